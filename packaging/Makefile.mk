# Recipes for packagers; doc/packages.md says how to use them.
EXTRA_DIST += \
	packaging/docker/Dockerfile \
	packaging/docker/Dockerfile.dockerignore \
	packaging/guix/heddle.scm \
	packaging/spack/spack_repo/heddle/packages/heddle/package.py \
	packaging/spack/spack_repo/heddle/repo.yaml
