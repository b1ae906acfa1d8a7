#!/bin/sh
# The recipes for Spack, Guix and Docker can be read, have Heddle's version, and give configure
# options that it has. No test builds them.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
. "$top_srcdir/tests/tools/common.sh"
value() { sed -n "s/^$1 = //p" "$top_builddir/Makefile"; }
packaging=$top_srcdir/packaging version=$(value PACKAGE_VERSION)
spack=$packaging/spack/spack_repo/heddle/packages/heddle/package.py guix=$packaging/guix/heddle.scm
docker=$packaging/docker/Dockerfile

grep -q "version(\"$version\"" "$spack" && grep -q "heddle-$version.tar.gz" "$spack" ||
	fail "$spack is not of version $version"
grep -q "(version \"$version\")" "$guix" || fail "$guix is not of version $version"
grep -qx "version = \"$version\"" "$top_srcdir/python/pyproject.toml" &&
	grep -qx "__version__ = \"$version\"" "$top_srcdir/python/heddle/__init__.py" ||
	fail "the Python package is not of version $version"

# Options of Heddle's configure; in the Dockerfile those behind ./autogen.sh.
"$top_srcdir/configure" --help >"$work/help" || fail "configure --help"
{
	cat "$spack" "$guix"
	sed -n '/autogen/,$p' "$docker"
} | grep -oE -e '--(with|without|enable|disable)-[a-z]+' | sed 's/--[a-z]*-//' | sort -u >"$work/options"
[ -s "$work/options" ] || fail "no options found"
while read -r option; do
	grep -qE -e "--(with|without|enable|disable)-$option\b" "$work/help" || fail "configure has no $option"
done <"$work/options"

# Spack finds a repository by the folders spack_repo/NAMESPACE.
repository=$packaging/spack/spack_repo/heddle/repo.yaml
grep -qx '  namespace: heddle' "$repository" && grep -qx '  api: v2\.[0-9]*' "$repository" ||
	fail "$repository"
# Spack's part is played: its words are known, variants are those that conditions name.
if command -v python3 >/dev/null; then
	PYTHONDONTWRITEBYTECODE=1 python3 - "$spack" <<'END' || fail "$spack"
import re, sys, types
words = {"variant": [], "depends_on": [], "conflicts": [], "version": [], "license": []}
spack = types.ModuleType("spack.package")
for word, calls in words.items():
    setattr(spack, word, lambda *a, _calls=calls, **k: _calls.append((a, k)))
spack.join_path = lambda *parts: "/".join(map(str, parts))
built = types.ModuleType("spack_repo.builtin.build_systems.autotools")
built.AutotoolsPackage = type("AutotoolsPackage", (), {})
for name in ("spack", "spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["spack.package"] = spack
sys.modules["spack_repo.builtin.build_systems.autotools"] = built
names = {}
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"), names)
variants = {a[0] for a, _ in words["variant"]}
used = set()
for a, k in words["depends_on"] + words["conflicts"]:
    used |= set(re.findall(r"^[+~](\w+)", k.get("when", "")))
for a, k in words["conflicts"]:
    used |= set(re.findall(r"^[+~](\w+)", a[0]))
assert used <= variants, used - variants

class Prefix(str):
    def __getattr__(self, name):
        return Prefix(self + "/" + name)

class Spec:
    def __init__(self, on):
        self.on = on
    def satisfies(self, text):
        return (text[1:] in self.on) == (text[0] == "+")
    def __getitem__(self, name):
        return types.SimpleNamespace(prefix=Prefix("/" + name))

for on in (set(), variants):
    package = names["Heddle"]()
    package.spec = Spec(on)
    package.with_or_without = lambda name: ["--with%s-%s" % ("" if name in on else "out", name)]
    print(*package.configure_args())
END
else
	echo "no Python: $spack not read"
fi

if command -v guile >/dev/null; then
	# Gexps are Guix's own syntax.
	guile --no-auto-compile -c '
(define (reads name) (lambda (c port) (list name (read port))))
(read-hash-extend #\~ (reads (quote gexp)))
(read-hash-extend #\$ (reads (quote ungexp)))
(call-with-input-file (cadr (command-line))
  (lambda (port) (do ((x (read port) (read port))) ((eof-object? x)))))' "$guix" || fail "$guix"
else
	echo "no Guile: $guix not read"
fi

if command -v hadolint >/dev/null; then
	hadolint "$docker" || fail "$docker"
else
	echo "no hadolint: $docker not checked"
fi
[ "$failures" = 0 ]
