#!/bin/sh
# Slaves over TCP/IP on this machine, where StarPU was built for them.
. "$top_srcdir/tests/tools/common.sh"
launch=$(sed -n 's/^starpu_libdir = //p' "$top_builddir/Makefile")/../bin/starpu_tcpipexec
[ -x "$launch" ] || launch=starpu_tcpipexec
"$top_builddir/bin/heddle-info" 2>/dev/null | grep -q 'slaves over TCP/IP' &&
	command -v "$launch" >/dev/null || { echo "no slaves over TCP/IP"; exit 77; }
STARPU_NCPU=1 STARPU_NOPENCL=0
export STARPU_NCPU STARPU_NOPENCL
for policy in heddle hdss ddwrr odds lws; do
	outcome -F 0 'all is right' env STARPU_SCHED=$policy "$launch" -np 1 -ncpus 2 "$top_builddir/tests/starpu/slaves"
done
[ "$failures" = 0 ]
