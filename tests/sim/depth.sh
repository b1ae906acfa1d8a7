#!/bin/sh
# HEDDLE_DEPTH bounds what workers of local queues take ahead.
: "${top_builddir:?}"
exec "$top_builddir/tests/sim/ahead" 0
