/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The message table as data, for the checks of catalog and man page. */

#include "core/message.h"
#include "base/macro.h"

#define MESSAGE_ROW(name, id) {#name, id},
static const MessageInfo message_rows[] = {MESSAGE_TABLE(MESSAGE_ROW)};
#undef MESSAGE_ROW

const MessageInfo *message_table(size_t *ret_n) {
        *ret_n = ELEMENTSOF(message_rows);
        return message_rows;
}
