#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Run libFuzzer on one target: fuzz.sh NAME [SECONDS] [OPTION...]
#
# Compiles fuzz-NAME.c with clang and the sanitizers, starts from corpus/NAME and keeps what it finds
# in $FUZZ_DIR/NAME (build-fuzz in the source tree by default). A crash file is left in the current
# directory; put it into corpus/NAME under a telling name together with the fix. Options go on to
# libFuzzer, e.g. -jobs=4.
set -eu

name=${1:?usage: fuzz.sh NAME [SECONDS] [OPTION...]}
seconds=${2:-60}
shift
[ $# -eq 0 ] || shift

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
work=${FUZZ_DIR:-$top/build-fuzz}/$name
mkdir -p "$work/corpus"

# shellcheck disable=SC2046 # flags are words
clang -std=gnu17 -g -O1 -D_GNU_SOURCE -DDAMON_TIERD_VERSION='"fuzz"' \
        -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
        -I"$top/include" -I"$here" -o "$work/fuzz" \
        "$here/fuzz-$name.c" "$top"/src/base/*.c "$top"/src/core/*.c "$top"/src/io/*.c \
        $(pkg-config --cflags --libs inih numa libsystemd json-c)

set -- -max_total_time="$seconds" -print_final_stats=1 "$@"
if [ -f "$here/dict/$name.dict" ]; then
        set -- -dict="$here/dict/$name.dict" "$@"
fi

exec "$work/fuzz" "$@" "$work/corpus" "$here/corpus/$name"
