import pytest


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="the long versions of the tests that have one")


@pytest.fixture
def long(request):
    """Whether the long version is wanted."""
    return request.config.getoption("--long")
