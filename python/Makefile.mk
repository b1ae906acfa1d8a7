# The Python package. It is no part of `make install': pip installs it, or a package does.
EXTRA_DIST += \
	python/README.md \
	python/examples/loops.ipynb \
	python/examples/mandelbrot.py \
	python/heddle/__init__.py \
	python/heddle/_arguments.py \
	python/heddle/_devices.py \
	python/heddle/_kernel.py \
	python/heddle/_library.py \
	python/heddle/_loop.py \
	python/heddle/_requests.py \
	python/heddle/_session.py \
	python/heddle/_sources.py \
	python/heddle/_stats.py \
	python/heddle/py.typed \
	python/pyproject.toml \
	python/tests/conftest.py \
	python/tests/layout.c \
	python/tests/test_kernel.py \
	python/tests/test_layout.py \
	python/tests/test_loop.py \
	python/tests/test_notebook.py \
	python/tests/test_stats.py
