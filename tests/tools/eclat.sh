#!/bin/sh
# The app eclat: the same sets whatever the tasks, files, and refusals.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
. "$top_srcdir/tests/tools/common.sh"
baskets=$top_srcdir/apps/eclat/baskets.dat
expect_app 0 "verified" eclat --input "$baskets" --support 5% --reps 2 --verify \
	--output "$work/sets" --save-input "$work/baskets"
cmp "$baskets" "$work/baskets" || fail "eclat: other transactions were written"
# Whatever the tasks and the policy, the sets are the same.
for more in '--pairs 1 --sched ddwrr' '--pairs 1M --sched odds' '--sched dmda'; do
	# shellcheck disable=SC2086 # options
	expect_app 0 "verified" eclat --input "$baskets" --support 20 --reps 2 --verify \
		--output "$work/b" $more
	cmp "$work/sets" "$work/b" || fail "eclat $more: other sets"
done
for size in 0 1 501; do
	expect_app 0 "verified" eclat --size $size --reps 1 --verify
done
# One transaction of 17 items had 131,071 sets, and 30 took longer than 9001.
expect_app 0 "0 sets are in at least 2 of 1 transactions" eclat --size 1 --reps 1 --verify
expect_app 0 "sets are in at least 2 of 30 transactions" eclat --size 30 --reps 1 --verify
expect_app 0 "sets are in at least 2 of 199 transactions" eclat --size 199 --support .1% --reps 1
expect_app 0 "sets are in at least 3 of 201 transactions" eclat --size 201 --reps 1
expect_app 0 "verified" eclat --size 9001 --reps 2 --verify --sched dmda --perf-model estimates
expect_app 2 "--perf-model mine: neither history nor estimates" eclat --perf-model mine
printf '3 1\n\n 1 2 3 3\r\n\t1 2\n9' >"$work/baskets"
expect_app 0 "5 sets are in at least 2 of 4 transactions" eclat --input "$work/baskets" \
	--support 2 --verify --reps 1 --output "$work/sets"
printf '1 (3)\n1 2 (2)\n1 3 (2)\n2 (2)\n3 (2)\n' | cmp - "$work/sets" || fail "eclat: wrong sets"
expect_app 0 "3 sets are in" eclat --input "$work/baskets" --support 50% --longest 1 --verify \
	--reps 1
expect_app 0 "0 sets are in" eclat --input "$work/baskets" --support 5 --verify --reps 1
expect_app 0 '"sets": 8' eclat --input "$work/baskets" --support 1 --reps 1 --json -
# A transaction of 40 items alone has 10^12 sets: that was begun, and did not end.
seq -s ' ' 40 >"$work/baskets"
expect_app 2 "--support 1: transaction 1 alone has 40 items, and so 4294967295 frequent sets" eclat \
	--input "$work/baskets" --support 1
expect_app 0 "820 sets are in" eclat --input "$work/baskets" --support 1 --longest 2 --verify --reps 1
printf '1 2\n3 4x\n' >"$work/baskets"
expect_app 2 "baskets:2: '4x' is not a whole number from 0" eclat --input "$work/baskets"
printf '2147483648\n' >"$work/baskets"
expect_app 2 "'2147483648' is not a whole number from 0 to 2147483647" eclat --input "$work/baskets"
printf ' \n\n' >"$work/baskets"
expect_app 2 "baskets: no transactions" eclat --input "$work/baskets"
printf '1\0002\n' >"$work/baskets"
expect_app 2 "baskets: a zero byte" eclat --input "$work/baskets"
expect_app 2 "--support 0: not a whole number from 1" eclat --support 0
expect_app 2 "--support 101%: not more than 0% and at most 100%" eclat --support 101%
expect_app 2 "--length 0: not a number from 1" eclat --length 0
[ "$failures" = 0 ]
