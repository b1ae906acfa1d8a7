#!/bin/sh
# Generates configure and Makefile.in; run once in a fresh clone.
set -e
cd "$(dirname "$0")"
mkdir -p build-aux m4
exec autoreconf --install --force --warnings=all
