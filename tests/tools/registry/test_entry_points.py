"""Entry points are read from every place where packaging files declare them."""

from __future__ import annotations

import pytest

from tests.tools.trees import tree
from tools.profiles import load_profile
from tools.registry.entry_points import EntryPoint, entry_points

PROFILE = load_profile("metax")


def read(files: dict[str, str]) -> list[tuple[str, str, str, int]]:
    """(group's last part, name, target, line) of what a plugin with ``files`` declares."""
    found = entry_points(tree(files, "vllm_metax", "plugin"), PROFILE)
    return [(e.kind, e.name, e.target, e.line) for e in found]


@pytest.mark.parametrize(
    "files",
    [
        {
            "/pyproject.toml": """
            [project.entry-points."vllm.general_plugins"]
            zeta = "vllm_metax:first"
            alpha = "vllm_metax:second"
            """
        },
        {
            "/setup.cfg": """
            [options.entry_points]
            vllm.general_plugins =
                zeta = vllm_metax:first
                alpha = vllm_metax:second
            """
        },
        {
            "/setup.py": """
            from setuptools import setup
            setup(name="x", entry_points={"vllm.general_plugins": ["zeta = vllm_metax:first",
                                                                   "alpha = vllm_metax:second"]})
            """
        },
        {
            "/setup.py": """
            from setuptools import setup
            POINTS = {"vllm.general_plugins": ("zeta = vllm_metax:first", "alpha=vllm_metax:second")}
            options = {"entry_points": POINTS}
            setup(**options)
            """
        },
        {
            "/setup.py": '''
            import setuptools
            setuptools.setup(entry_points="""
            [vllm.general_plugins]
            zeta = vllm_metax:first
            alpha = vllm_metax:second
            """)
            '''
        },
    ],
)
def test_declared_in_order_of_name(files: dict[str, str]) -> None:
    """Whatever the order in the file, upstream meets them sorted: that is what build backends write."""
    assert [row[:3] for row in read(files)] == [
        ("general_plugins", "alpha", "vllm_metax:second"),
        ("general_plugins", "zeta", "vllm_metax:first"),
    ]


def test_line_of_the_entry() -> None:
    files = {
        "/pyproject.toml": '[project.entry-points."vllm.platform_plugins"]\n\nmx = "vllm_metax:register"\n'
    }
    assert read(files) == [("platform_plugins", "mx", "vllm_metax:register", 3)]


def test_unreadable_falls_back_to_profile() -> None:
    files = {"/pyproject.toml": "not [ toml", "/setup.py": "def ("}
    assert [row[2] for row in read(files)] == [
        "vllm_metax:register_out_of_tree",
        "vllm_metax:register_model",
        "vllm_metax:register",
    ]


def test_other_groups_are_left_out() -> None:
    files = {"/pyproject.toml": '[project.entry-points.console_scripts]\nx = "vllm_metax:main"\n'}
    assert all(e[0] in ("general_plugins", "platform_plugins") for e in read(files))


def test_attribute_without_extras() -> None:
    entry = EntryPoint("vllm.general_plugins", "x", "pkg.mod:fn [extra]")
    assert (entry.module, entry.attribute) == ("pkg.mod", "fn")


def test_assumed_functions_that_the_plugin_calls_otherwise() -> None:
    """A plugin without packaging files whose functions are not those of the profile."""
    files = {"__init__.py": "def register(): ...\ndef register_patches(): ...\ndef register_model(): ...\n"}
    assert [row[2] for row in read(files)] == [
        "vllm_metax:register_patches",
        "vllm_metax:register_model",
        "vllm_metax:register",
    ]
