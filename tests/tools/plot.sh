#!/bin/sh
# heddle plot on a small block log and a small comparison.
# Time limit: 450 s
. "$top_srcdir/tests/tools/common.sh"
plot=$(readlink -f "$top_builddir/bin/heddle-plot")
command -v gnuplot >/dev/null || exit 77
# What a user has gnuplot do at its start is not for our pictures.
mkdir "$work/home" && echo 'set print "-"; exit status 3' >"$work/home/.gnuplot" || exit 99
export HOME="$work/home"

# drawn NAME...: both formats of each are there and are pictures.
drawn() {
	for name; do
		grep -q '</svg>' "$work/$name.svg" || fail "$name.svg"
		[ "$(head -c 4 "$work/$name.png" | tail -c 3)" = PNG ] || fail "$name.png"
	done
}

# Two loops, the second of which begins while the numbers of the first still stand.
cat >"$work/log.csv" <<'END'
loop,worker,kind,phase,start,size,submit_us,done_us
one,0,cuda,adaptive,0,128,0,50
one,1,cpu,adaptive,128,128,0,150
one,0,cuda,completion,256,1000,50,600
one,1,cpu,completion,1256,200,150,620
one,1,cpu,adaptive,128,128,0,100
one,0,cuda,adaptive,0,128,0,110
one,0,cuda,completion,256,1200,110,500
END
"$plot" "$work/log.csv" || fail "block log"
drawn log-blocks log-finish
# A colour for each of few workers, which the key names.
grep -q 'cuda0 learning' "$work/log-blocks.svg" && grep -q '>cpu1<' "$work/log-blocks.svg" ||
	fail "workers in the key"
grep -qi '230, *159, *0\|#e69f00' "$work/log-blocks.svg" || fail "the second worker's colour"
# A spreadsheet puts a mark before a file and ends its lines in another way.
{ printf '\357\273\277' && sed "s/\$/$(printf '\r')/" "$work/log.csv"; } >"$work/spread.csv"
"$plot" "$work/spread.csv" || fail "a spreadsheet's block log"
cmp -s "$work/spread-blocks.svg" "$work/log-blocks.svg" || fail "a spreadsheet's block log looks different"
"$plot" --loop 3 "$work/log.csv" 2>"$work/messages" && fail "a third loop was found"
grep -q 'holds 2 loops' "$work/messages" || fail "number of loops: $(cat "$work/messages")"
"$plot" --loop 1 -o "$work/first" "$work/log.csv" || fail "first loop"
drawn first-blocks
cmp -s "$work/first-blocks.svg" "$work/log-blocks.svg" && fail "both loops look alike"
# Two ranks, run after run: what they do in a run is one picture, and one of them may do nothing.
cat >"$work/ranks-rank0.csv" <<'END'
loop,worker,kind,phase,start,size,submit_us,done_us,rank,run
a,0,cpu,completion,0,128,0,90,0,1
a,0,cpu,completion,0,16,0,40,0,2
a,1,cuda,completion,16,100,0,70,0,2
a,0,cpu,completion,300,16,50,60,0,2
b,0,cpu,completion,0,16,0,10,0,3
END
cat >"$work/ranks-rank1.csv" <<'END'
loop,worker,kind,phase,start,size,submit_us,done_us,rank,run
a,0,cpu,adaptive,116,40,20,50,1,2
a,0,cpu,completion,156,144,50,80,1,2
END
"$plot" --loop 2 "$work/ranks-rank0.csv" "$work/ranks-rank1.csv" || fail "logs of two ranks"
drawn ranks-blocks ranks-finish
for text in 'cpu0 rank 0<' 'cuda1 rank 0<' 'cpu0 rank 1<' 'cpu0 rank 1 learning'; do
	grep -q ">$text" "$work/ranks-blocks.svg" || fail "ranks: no $text"
done
"$plot" --loop 2 -o "$work/pattern" "$work/ranks-rank*.csv" || fail "a pattern"
cmp -s "$work/pattern-blocks.svg" "$work/ranks-blocks.svg" || fail "a pattern is another picture"
"$plot" -o "$work/third" "$work/ranks-rank0.csv" "$work/ranks-rank1.csv" || fail "the last run"
grep -q 'rank 1' "$work/third-blocks.svg" && fail "rank 1 did nothing in run 3"
"$plot" --loop 4 "$work/ranks-rank"?.csv 2>"$work/messages" && fail "a fourth run was found"
grep -q 'holds 3 loops' "$work/messages" || fail "number of runs: $(cat "$work/messages")"
"$plot" "$work/log.csv" "$work/log.csv" 2>"$work/messages" && fail "two logs of one process"
grep -q 'with rank and run' "$work/messages" || fail "two logs: $(cat "$work/messages")"
"$plot" "$work/ranks-rank0.csv" "$work/log.csv" 2>"$work/messages" && fail "two kinds of log"
grep -q 'log.csv: its first line' "$work/messages" || fail "two kinds: $(cat "$work/messages")"
sed '3s/,1,2$/,1,x/' "$work/ranks-rank1.csv" >"$work/torn-rank1.csv"
"$plot" "$work/ranks-rank0.csv" "$work/torn-rank1.csv" 2>"$work/messages" && fail "a torn rank"
grep -q 'torn-rank1.csv:3: no rank and run' "$work/messages" || fail "torn: $(cat "$work/messages")"
# The equal blocks of a stock policy: an axis with one number.
cat >"$work/equal.csv" <<'END'
loop,worker,kind,phase,start,size,submit_us,done_us
one,0,cpu,completion,0,128,0,50
one,1,cpu,completion,128,128,0,60
END
"$plot" "$work/equal.csv" 2>"$work/messages" || fail "equal blocks"
drawn equal-blocks equal-finish
[ ! -s "$work/messages" ] || fail "equal blocks: $(cat "$work/messages")"

row() {
	printf '%s\n' '{"name": "'"$1"'", "group": "'"$2"'", "median_us": '"$3"', "min_us": 1, "first_us": 2,
	"efficiency": '"$4"', "finish_spread": 0.1, "learning_us": 3, "vs_best_single": 1,
	"shares": {"cpu": 0.4, "cuda": 0.6}},'
}
# bench PLATFORM [TEXT]: TEXT stands behind the names.
bench() {
	printf '%s\n' '{"app": "a'"${2-}"'", "n": 10, "platform": '"$1"', "workers": {"cpu": 3, "cuda": 1},
	"ideal_shares": {"cpu": 0.3, "cuda": 0.7}, "rows": ['
	row cpu-only alone 100 0.3
	row "hdss${2-}" ours 32 0.98
	row gss ours 50 0.6
	row lws stock null null | sed '$s/,$/]}/'
}
echo "{\"heddle\": \"0\", \"benches\": [$(bench null)]}" >"$work/one.json"
echo "{\"heddle\": \"0\", \"benches\": [$(bench '"m-1"'),$(bench '"m-2"')]}" >"$work/two.json"
"$top_builddir/bin/heddle-bench" --rows "$work/one.json" >"$work/rows" || fail "rows"
# Speed over one core: three cores take 100, so one takes 300.
[ "$(awk -F'\t' '$6 == "hdss" { print $4, $5, $8, $15, $16, $17 }' "$work/rows")" = \
	"3 1 32.000 9.375000 0.600000 0.700000" ] || fail "row of hdss"
# Names that would tear a row, and what is no name.
printf '%s\n' '{"benches": [{"app": "x\ty\nz", "rows": [{"name": null, "median_us": 1}]}]}' >"$work/odd.json"
"$top_builddir/bin/heddle-bench" --rows "$work/odd.json" >"$work/rows" || fail "rows of odd names"
[ "$(awk -F'\t' 'NR > 1 { print NR, NF, $1, $6 }' "$work/rows")" = "2 18 x y z ?" ] ||
	fail "odd names: $(cat "$work/rows")"
"$plot" "$work/one.json" || fail "comparison on one machine"
drawn one-speed one-shares
"$plot" "$work/two.json" || fail "comparison on two machines"
drawn two-speed-1 two-speed-2 two-machines two-shares

# Two kernels, on two devices and by each alone.
kernel() {
	cat <<END
$1,skmd,shared,1000.0,0,a GPU,$2,10,100,700,90
$1,skmd,shared,1000.0,1,a CPU,$3,10,0,900,0
$1,linear,shared,2000.0,0,a GPU,$2,10,100,700,90
$1,alone 0,alone,1500.0,0,a GPU,10,10,200,1000,200
$1,plain 0,plain,1250.0,0,,0,0,0,0,0
END
}
{
	echo 'kernel,contender,group,median_us,worker,name,groups,start_us,in_us,compute_us,out_us'
	kernel VectorAdd 7 3
	kernel Other 0 10
} >"$work/kernels.csv"
"$plot" "$work/kernels.csv" || fail "kernels"
drawn kernels-gains kernels-groups kernels-timeline-VectorAdd
[ -e "$work/kernels-timeline-Other.svg" ] && fail "a timeline that nobody wanted"
"$plot" --kernel Other "$work/kernels.csv" || fail "kernel Other"
drawn kernels-timeline-Other
"$plot" --kernel Missing "$work/kernels.csv" 2>"$work/messages" && fail "a kernel that is not there"
grep -q 'no kernel Missing' "$work/messages" || fail "message: $(cat "$work/messages")"
"$plot" -o "$work/some" --timeline linear --kernel Other "$work/kernels.csv" || fail "timeline of linear"
drawn some-timeline-Other
grep -q 'linear: a GPU' "$work/some-timeline-Other.svg" || fail "not the timeline of linear"
grep -q 'alone: ' "$work/some-timeline-Other.svg" && fail "a contender that nobody wanted"
# Figures of the SKMD paper.
for figure in 7 8 9 10; do
	"$plot" -o "$work/skmd$figure" --skmd $figure >"$work/messages" || fail "figure $figure"
	grep -q '^\(table\|kernel\),' "$work/messages" || fail "figure $figure: no data"
done
drawn skmd7-tables skmd8-timeline-Example skmd9-gains skmd9-groups skmd10-timeline-VectorAdd \
	skmd10-timeline-MatrixMultiplication skmd10-timeline-Histogram
[ -e "$work/skmd9-timeline-VectorAdd.svg" ] && fail "a timeline in figure 9"
[ -e "$work/skmd10-gains.svg" ] && fail "gains in figure 10"
"$plot" --skmd 6 -o "$work/none" 2>"$work/messages" && fail "figure 6"
[ ! -e "$work/none.csv" ] || fail "a figure that is none leaves a file"
grep -q 'not a whole number from 7 to 10' "$work/messages" || fail "figure 6: $(cat "$work/messages")"
"$plot" --skmd 7 "$work/kernels.csv" 2>"$work/messages" && fail "a file with --skmd"
printf 'table,device,groups,us,relative\nVectorAdd,cpu,x,1,1\n' >"$work/short.csv"
"$plot" "$work/short.csv" 2>"$work/messages" && fail "times without groups"
grep -q 'short.csv:2: not numbers' "$work/messages" || fail "times: $(cat "$work/messages")"
printf 'kernel,contender,x\n1,2,3\n' >"$work/short.csv"
"$plot" "$work/short.csv" 2>"$work/messages" && fail "a short line was taken"

# Two wavefronts of a log, the second skewed, on two workers.
cat >"$work/tiles.csv" <<'END'
wavefront,worker,kind,row,rows,column,columns,skew,sweep,begin_us,end_us,total_columns
a,0,cpu,0,8,0,10,0,0,0,10,20
a,0,cpu,0,8,10,10,0,0,10,20,20
a,1,cuda,8,4,0,10,0,0,10,20,20
a,1,cuda,8,4,10,10,0,0,20,30,20
a,1,cuda,0,8,0,10,1,0,0,10,20
a,0,cpu,8,4,0,10,1,0,10,22,20
a,1,cuda,0,8,10,10,1,0,10,20,20
END
"$plot" "$work/tiles.csv" || fail "log of tiles"
drawn tiles-wave
grep -q 'cuda1' "$work/tiles-wave.svg" || fail "no worker in the picture"
"$plot" --loop 1 -o "$work/tiles1" "$work/tiles.csv" || fail "first wavefront"
cmp -s "$work/tiles1-wave.svg" "$work/tiles-wave.svg" && fail "both wavefronts look alike"
"$plot" --loop 3 "$work/tiles.csv" 2>"$work/messages" && fail "a third wavefront was found"
grep -q 'holds 2 wavefronts' "$work/messages" || fail "number: $(cat "$work/messages")"
sed '3s/,20$//' "$work/tiles.csv" >"$work/short.csv"
"$plot" "$work/short.csv" 2>"$work/messages" && fail "a line that is too short was drawn"
grep -q 'short.csv:3: not a line' "$work/messages" || fail "line: $(cat "$work/messages")"

awk -F, 'NR == 1 || $1 == "a"' "$work/tiles.csv" | sed '1s/$/,rank,run/; 2,$s/$/,0,1/' >"$work/front-rank0.csv"
sed 's/,0,1$/,1,1/; 2,$s/,cuda,8,/,cuda,12,/; 2,$s/,cpu,0,8/,cpu,16,8/' "$work/front-rank0.csv" >"$work/front-rank1.csv"
"$plot" --loop 1 "$work"/front-rank?.csv || fail "tiles of two ranks"
drawn front-wave
grep -q 'cuda1 rank 1' "$work/front-wave.svg" || fail "no worker of rank 1"

# The paper's first cluster, as it is planned.
for k in 1 4; do
	"$top_builddir/bin/heddle" plan interval --cd 99 --cc 0.69 --us 2000 --uc 1000 --k $k \
		--worker kid:10:0.526 --sweep=8-300 --csv "$work/sweep.csv" >"$work/plan" || fail "plan"
done
[ "$(grep -c ',1$' "$work/sweep.csv")" = 2 ] || fail "chosen: $(grep ',1$' "$work/sweep.csv")"
[ "$(wc -l <"$work/sweep.csv")" = 587 ] || fail "lines: $(wc -l <"$work/sweep.csv")"
"$plot" "$work/sweep.csv" || fail "sweep"
drawn sweep-interval
grep -q 'predicted, k = 4' "$work/sweep-interval.svg" || fail "no second curve"

printf 'app,contender,us\nx,one core,400.5\nx,lws,200\nx,hdss,150\ny,one core,100\ny,hdss,80\n' >"$work/app.csv"
"$plot" "$work/app.csv" || fail "times of apps"
drawn app-times
# A title is whole in a low picture, too: its line is lower than its letters are high.
grep -B1 '<text>speed of the apps<' "$work/app-times.svg" |
	sed -n 's/.*translate([0-9.]*,\([0-9.]*\)).* font-size="\([0-9.]*\)".*/\1 \2/p' |
	awk '{ found = $1 > $2 } END { exit !found }' || fail "a title that is cut"
grep -q '2.67' "$work/app-times.svg" && grep -q 'y: hdss' "$work/app-times.svg" || fail "bars of apps"
printf 'app,contender,us\nx,one core,nan\n' >"$work/torn.csv"
"$plot" "$work/torn.csv" 2>"$work/messages" && fail "no time was drawn"
grep -q 'torn.csv:2: us: "nan" is no time' "$work/messages" || fail "time: $(cat "$work/messages")"

{
	echo codelet,device,jobs,speedup_paper,speedup_published,speedup_fit,speedup_again,core_paper,core_published,core_fit,core_again
	echo knn,cuda X,30,8.8,20.5,7,2,21.2,200,9,1.5
	echo histogram,cuda X,30,,20.5,7,,,0.05,9,
	echo knn,cuda X,30,8.8,10,5,2,21.2,100,8,1.5
} >"$work/cv.csv"
"$plot" "$work/cv.csv" || fail "errors of estimates"
drawn cv-errors
grep -q 'histogram' "$work/cv-errors.svg" && grep -q 'estimates on cuda X' "$work/cv-errors.svg" ||
	fail "errors of estimates: names"
# Two samplings of a codelet are one group of bars in each half.
[ "$(grep -o '>knn<' "$work/cv-errors.svg" | wc -l)" = 2 ] || fail "errors of estimates: samplings"
echo 'knn,cuda X,30,nan,20.5,7,2,21.2,200,9,1.5' >>"$work/cv.csv"
"$plot" "$work/cv.csv" 2>"$work/messages" && fail "no error was drawn"
grep -q 'cv.csv:5: "nan" is no error' "$work/messages" || fail "errors: $(cat "$work/messages")"

# torn LINE FIELD TEXT: line 2 of an equal log with another FIELD is refused.
torn() {
	awk -F, -v OFS=, -v line="$1" -v field="$2" -v text="$3" 'NR == line { $field = text } { print }' \
		"$4" >"$work/torn.csv"
	"$plot" "$work/torn.csv" 2>"$work/messages" && fail "$3 in field $2 of $4 was drawn"
	grep -q "torn.csv:$1: $5" "$work/messages" || fail "$3 in field $2: $(cat "$work/messages")"
}
torn 2 4 learnt "$work/equal.csv" '"learnt" is no phase (adaptive, completion)'
torn 2 8 nan "$work/equal.csv" 'done_us: "nan" is no number'
torn 3 6 "" "$work/equal.csv" 'size: "" is no number'
torn 2 11 inf "$work/tiles.csv" 'end_us: "inf" is no number'
torn 2 4 8x "$work/tiles.csv" 'row: "8x" is no number'

for bad in "$work/nothing" "$work" "$work/messages" "--loop x $work/log.csv" ''; do
	# shellcheck disable=SC2086
	"$plot" $bad 2>"$work/bad" && fail "accepted: $bad"
	[ -s "$work/bad" ] || fail "no message: $bad"
done
cat >"$work/queues.csv" <<'END'
time_us,worker,kind,target,queued
0.000,0,cuda,2,1
100.000,1,cuda,2,2
250.500,0,cuda,4,4
END
"$plot" "$work/queues.csv" || fail "queue log"
drawn queues-queue
grep -q 'cuda1 target' "$work/queues-queue.svg" || fail "the second accelerator is missing"
for rank in 0 1; do
	sed "1s/\$/,rank,run/; 2,\$s/\$/,$rank,1/" "$work/queues.csv" >"$work/claims-rank$rank.csv"
done
"$plot" "$work"/claims-rank?.csv || fail "queues of two ranks"
drawn claims-queue
grep -q 'cuda1 rank 0 target' "$work/claims-queue.svg" && grep -q 'cuda1 rank 1 target' "$work/claims-queue.svg" ||
	fail "accelerators of two ranks"
"$plot" "$work/kernels.csv" "$work/kernels.csv" 2>"$work/messages" && fail "two comparisons of kernels"
grep -q 'only logs' "$work/messages" || fail "two comparisons: $(cat "$work/messages")"
echo "nonsense" >>"$work/queues.csv"
"$plot" "$work/queues.csv" 2>"$work/messages" && fail "a torn queue log was drawn"
grep -q 'queues.csv:5: not a line' "$work/messages" || fail "torn queue log: $(cat "$work/messages")"

cat >"$work/stream.csv" <<'END'
stream,machine,recalc,contender,speedup,small_on_cores,large_on_cores
tiles,1cpu+gpu33,0,bound,2,,
tiles,1cpu+gpu33,8,bound,27,,
tiles,1cpu+gpu33,0,odds,1.9,49,0
tiles,1cpu+gpu33,8,odds,26,81,0.1
END
"$plot" "$work/stream.csv" || fail "stream of tiles"
drawn stream-rates stream-tiles
grep -q 'odds, large' "$work/stream-tiles.svg" || fail "large tiles are missing"
grep -q 'bound' "$work/stream-tiles.svg" && fail "the bound has no tiles"

# What a file, an option or a path says is drawn, and never run. Each form would be run in one
# place: within a string of gnuplot's or behind its end, as a number, a file or a word of a shell.
hit=$work/hit
cat >"$work/forms" <<END
\`touch $hit\`
';system("touch $hit");'
";system('touch $hit');"
;system("touch $hit")
< touch $hit
| touch $hit
\$(touch $hit)
END
mkdir "$work/evil"
# harmless WHAT ARGUMENT...: nothing is run, whether or not there is something to draw.
harmless() {
	what=$1
	shift
	(cd "$work/evil" && "$plot" "$@" >"$work/messages" 2>&1 </dev/null)
	[ $? -lt 124 ] || fail "$what: no end"
	[ -z "$(find "$work" -name 'hit*')" ] || fail "run: $what"
	find "$work" -name 'hit*' -delete
}
# fill TEXT [COLUMN] FILE: puts TEXT behind all words of a file, or all values of a column.
fill() {
	TEXT=$1 COLUMN=${3:+$2} awk -F, -v OFS=, 'NR > 1 {
		for (i = 1; i <= NF; i++)
			if (ENVIRON["COLUMN"] ? i == ENVIRON["COLUMN"] : $i !~ /^[0-9.]*$/)
				$i = $i ENVIRON["TEXT"]
	}
	{ print }' "${3-$2}"
}
sed -i '$d' "$work/queues.csv"
for name in log tiles sweep queues stream kernels; do
	while IFS= read -r form; do
		fill "$form" "$work/$name.csv" >"$work/evil/$name.csv"
		harmless "$form among the words of $name.csv" "$name.csv"
	done <"$work/forms"
	for column in $(seq "$(head -n 1 "$work/$name.csv" | tr ',' '\n' | wc -l)"); do
		fill ";system(\"touch $hit\")" "$column" "$work/$name.csv" >"$work/evil/$name.csv"
		harmless "column $column of $name.csv" "$name.csv"
	done
done
while IFS= read -r form; do
	text=$(printf '%s' "$form" | sed 's/"/\\"/g')
	printf '{"benches": [%s,%s]}\n' "$(bench "\"m-1$text\"" "$text")" \
		"$(bench "\"m-2$text\"" "$text")" >"$work/evil/two.json"
	harmless "$form in a comparison" --contender "hdss$form" two.json
	harmless "--title $form" --title "$form" "$work/log.csv"
	harmless "--contender $form" --contender "$form" "$work/two.json"
	harmless "--kernel $form" --kernel "$form" "$work/kernels.csv"
	harmless "--timeline $form" --timeline "$form" "$work/kernels.csv"
	harmless "--skmd $form" --skmd "$form"
	harmless "-o $form" -o "$form" "$work/log.csv"
done <"$work/forms"
# Text is drawn as it stands, whatever it would mean to gnuplot.
odd=' %s {^x_y} \101 "b" `c` '"'d'"' <&> @e #f'
shown=$(printf '%s' "$odd" | sed 's/&/\&amp;/g; s/</\&lt;/g')
text=$(printf '%s' "$odd" | sed 's/[\\"]/\\&/g')
# pictures FILE: every picture of a file has the text.
pictures() {
	rm -f "$work/evil/"*.svg "$work/evil/"*.png
	harmless "odd names in $1" --contender "hdss$odd" "$1"
	[ ! -s "$work/messages" ] || grep -v '\.svg .*\.png$' "$work/messages" && fail "odd names in $1"
	[ -n "$(find "$work/evil" -name '*.svg')" ] || fail "$1: no picture"
	for picture in "$work/evil/"*.svg; do
		grep -qF -- "$shown" "$picture" || fail "$picture lacks the odd name"
	done
}
for name in log tiles sweep queues stream kernels; do
	# Phases are not names.
	fill "$odd" "$work/$name.csv" | sed -E 's/,(adaptive|completion)[^,]*,/,\1,/' \
		>"$work/evil/$name.csv"
	pictures "$name.csv"
done
printf '{"benches": [%s,%s]}\n' "$(bench "\"m-1$text\"" "$text")" "$(bench "\"m-2$text\"" "$text")" \
	>"$work/evil/two.json"
pictures two.json
# Names of files: a pipe's, a command's, one that awk would take for an assignment.
for odd in '`touch hit`' '<touch hit' '|touch hit' "';system('touch hit');'" 'x=1'; do
	cp "$work/log.csv" "$work/evil/$odd.csv"
	harmless "$odd.csv" "$odd.csv"
	drawn "evil/$odd-blocks"
	mkdir "$work/evil/$odd"
	TMPDIR="$odd" harmless "TMPDIR=$odd" -o "tmp$odd" "$work/log.csv"
	drawn "evil/tmp$odd-blocks"
done
: >"$work/empty.csv"
outcome -G 2 '^heddle plot: .*none.csv: no such file$' "$plot" "$work/none.csv"
outcome -G 2 '^heddle plot: .*: not a file that can be drawn$' "$plot" "$work/home"
outcome -G 2 '^heddle plot: .*empty.csv: it is empty$' "$plot" "$work/empty.csv"
outcome -G 2 '^heddle plot: /proc/self/stat: neither a log' "$plot" -o "$work/stat" /proc/self/stat
outcome -G 2 '^heddle plot: pictures .*none/x-\*: cannot be written to .*none/; -o PREFIX names others$' "$plot" -o "$work/none/x" "$work/log.csv"
outcome -G 2 '^heddle plot: .*log.csv: the log holds [0-9]* ' "$plot" --loop 99 "$work/log.csv"
[ "$failures" = 0 ]
