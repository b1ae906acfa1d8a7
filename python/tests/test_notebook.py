# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The example notebook runs, as a notebook and as a program."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

NOTEBOOK = pathlib.Path(__file__).parents[1] / "examples" / "loops.ipynb"


def test_program(tmp_path, opencl):
    """The cells in their order, without a notebook's kernel."""
    pytest.importorskip("matplotlib")
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    program = tmp_path / "loops.py"
    program.write_text(
        "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    )
    subprocess.run(
        [sys.executable, str(program)],
        check=True,
        timeout=200,
        env=dict(os.environ, MPLBACKEND="Agg"),
    )


def test_notebook(opencl):
    nbformat = pytest.importorskip("nbformat", reason="no nbformat, which reads notebooks")
    nbclient = pytest.importorskip("nbclient", reason="no nbclient, which runs notebooks")
    pytest.importorskip("ipykernel", reason="no ipykernel, in which notebooks run")
    pytest.importorskip("matplotlib", reason="no matplotlib, with which the notebook draws")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=200).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert any("OpenCL 1" in output.get("text", "") for output in outputs)
