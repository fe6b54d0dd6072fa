import pytest


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="run long tests at full length")


@pytest.fixture
def long(request):
    """Whether tests that have a long version should run it."""
    return request.config.getoption("--long")
