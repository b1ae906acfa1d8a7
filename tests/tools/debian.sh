#!/bin/sh
# Debian's packages have the version, the SONAME and the versions of symbols that the library
# has.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
. "$top_srcdir/tests/tools/common.sh"
debian=$top_srcdir/debian
value() { sed -n "s/^$1 = //p" "$top_builddir/Makefile"; }
version=$(value PACKAGE_VERSION) soname=$(value HEDDLE_SONAME)
package=libheddle${soname#libheddle.so.}
# A revision of the packages alone is 1.2.3+1.
head -n 1 "$debian/changelog" | grep -qE "^heddle \($version([+~][^)]*)?\) " ||
	fail "debian/changelog begins with $(head -n 1 "$debian/changelog"), this is $version"
grep -qx "Package: $package" "$debian/control" || fail "debian/control: no $package"
grep -q "^$soname $package " "$debian/$package.symbols" || fail "$package.symbols: no $soname"
for node in $(sed -n 's/^\([A-Z0-9_.]*\) {$/\1/p' "$top_srcdir/libheddle.map"); do
	grep -qE "^ \(symver.*\)$node [0-9]" "$debian/$package.symbols" ||
		fail "$package.symbols: no $node, which libheddle.map has"
done
mpi=libheddle-mpi${package#libheddle}
grep -qx "Package: $mpi" "$debian/control" || fail "debian/control: no $mpi"
grep -q "^libheddle-mpi${soname#libheddle} $mpi " "$debian/$mpi.symbols" || fail "$mpi.symbols"
# CUDA is wanted with its profile, and only then.
if command -v dpkg-checkbuilddeps >/dev/null; then
	unmet=$(dpkg-checkbuilddeps "$debian/control" 2>&1)
	case $unmet in *nvidia* | *-contrib-*) fail "wanted without a profile: $unmet" ;; esac
	unmet=$(dpkg-checkbuilddeps -Ppkg.heddle.cuda "$debian/control" 2>&1)
	for package in libstarpu-contrib-dev nvidia-cuda-toolkit; do
		dpkg-query -W "$package" >/dev/null 2>&1 && continue
		case " $unmet " in *" $package "*) ;; *) fail "not wanted with pkg.heddle.cuda: $package" ;; esac
	done
fi
# Input files of apps are in the folder that heddle-tools has.
grep -qx 'usr/share/heddle' "$debian/heddle-tools.install" || fail "heddle-tools.install: no usr/share/heddle"
[ "$failures" = 0 ]
