#!/bin/sh
# heddle plan split: what it prints, and what it says to bad tables.
. "$top_srcdir/tests/tools/common.sh"
heddle=$top_builddir/bin/heddle

# expect_split STATUS PATTERN ARGUMENT...: of `heddle plan split`.
expect_split() {
	status=$1 pattern=$2
	shift 2
	expect "$status" "$pattern" "$heddle" plan split "$@"
}

# Two equal devices in the host's memory share equally; what is linear is exact.
cat >"$work/two.json" <<'EOF'
{"groups": 1000, "devices": [{"name": "a", "times": [[1000, 100]]},
	{"name": "b", "times": [[1000, 100]]}]}
EOF
expect_split 0 '"us": 50.0,' "$work/two.json"
expect_split 0 '"groups": 500,' "$work/two.json"
expect_split 0 '"us": 100.0,' --method single "$work/two.json"
# Two equal devices: half each, and as much later as sharing costs.
cat >"$work/costs.json" <<'EOF'
{"groups": 1000, "devices": [
	{"name": "a", "times": [[1000, 300]], "part_us": 30, "slowdown": 1.2},
	{"name": "b", "times": [[1000, 300]], "part_us": 30, "slowdown": 1.2}]}
EOF
expect_split 0 '"us": 210.0,' -m heddle "$work/costs.json"
sed 's/"slowdown": 1.2/"slowdown": 2/' "$work/costs.json" >"$work/costly.json"
expect_split 0 '"us": 300.0,' -m heddle "$work/costly.json"

# A GPU three times as fast behind a bus that eats it all.
cat >"$work/bus.json" <<'EOF'
{"groups": 1000, "contiguous": false, "in_bytes": 10000, "out_bytes": 0, "merge_bandwidth": 1,
 "buses": [{"name": "pcie", "bandwidth": 1000, "latency_us": 10}],
 "devices": [{"name": "cpu", "times": [[1000, 300]]},
	{"name": "gpu", "bus": "pcie", "times": [[1000, 100]]}]}
EOF
for method in heddle paper single optimum; do
	expect_split 0 '"us": 300.0,' -m $method "$work/bus.json"
done
expect_split 0 '"us": 10085.0,' -m linear "$work/bus.json"
expect_split 0 '^linear  *10085.0  *33.617  *250  *750$' --table "$work/bus.json"
expect_split 0 'merge_bandwidth' --help
# What SKMD calls not contiguous costs it all transfers; others only their parts'.
cat >"$work/published.json" <<'EOF'
{"groups": 1000, "published_contiguous": false, "in_bytes": 500, "out_bytes": 500,
 "merge_bandwidth": 10000, "buses": [{"name": "pcie", "bandwidth": 10000}],
 "devices": [{"name": "cpu", "times": [[1000, 300]]},
	{"name": "gpu", "bus": "pcie", "times": [[1000, 200]]}]}
EOF
expect_split 0 '^paper  *150.0  *0.500  *500  *500$' --table "$work/published.json"
expect_split 0 '^published  *230.0  *0.767  *600  *400$' --table "$work/published.json"
expect_split 0 '"merge_us": 50.0,' -m published "$work/published.json"
expect_split 0 '"merge_us": 0.0,' -m paper "$work/published.json"
sed 's/"merge_bandwidth": 10000, *//' "$work/published.json" >"$work/bad.json"
expect_split 2 'merge_bandwidth: is missing' "$work/bad.json"
expect_split 2 'which table' 
expect_split 2 'is not heddle' -m best "$work/two.json"
expect_split 2 'No such file' "$work/none.json"
while IFS='|' read -r text pattern; do
	printf '%s\n' "$text" >"$work/bad.json"
	expect_split 2 "$pattern" "$work/bad.json"
done <<'EOF'
[|line
[]|not an object
{"devices": []}|groups: is missing
{"groups": 1.5, "devices": []}|groups: not a whole number
{"groups": 1}|devices: not an array
{"groups": 1, "devices": []}|bad.json: devices: 1 to 16 devices
{"groups": 1, "devices": [1]}|devices\[0\]: not an object
{"groups": 1, "devices": [{"name": "a"}]}|devices\[0\].times: not an array
{"groups": 1, "devices": [{"name": "a", "times": [[1]]}]}|not pairs
{"groups": 1, "devices": [{"name": "a", "times": [[2, 1], [1, 1]]}]}|ascending
{"groups": 1, "devices": [{"name": "a", "times": [[0, 1]]}]}|not possible
{"groups": 1, "devices": [{"name": "a", "bus": "b", "times": [[1, 1]]}]}|no bus has that name
{"groups": 1, "devices": [{"name": "a", "times": [[1, 1]], "sped": 1}]}|sped: unknown key
{"groups": 1, "devices": [{"name": "a", "times": [[1, 1]], "part_us": -1}]}|part_us: not a number
{"groups": 1, "buses": [{"name": "b", "bandwidth": 0}], "devices": []}|devices, please
{"groups": 1, "contiguous": false, "devices": []}|merge_bandwidth: is missing
{"groups": 1, "contiguous": 1, "devices": []}|neither true nor false
{"groups": 1, "devices": [{"name": "a", "times": [[1, 1]], "slowdown": 0}]}|devices\[0\].slowdown: not above 0
{"groups": 1, "devices": [{"name": "a", "times": [[1, 1]]}, {"name": "a", "times": [[1, 1]]}]}|devices\[1\].name: devices\[0\] has that name, too
{"groups": 1, "buses": [{"name": "b", "bandwidth": 1}, {"name": "b", "bandwidth": 1}], "devices": []}|buses\[1\].name: buses\[0\] has that name, too
{"group": 1, "groups": 1, "devices": []}|group: unknown key
EOF
[ "$failures" = 0 ]
