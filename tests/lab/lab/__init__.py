# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab: distribution kernels under software emulation, with memory tiers we made up."""
