"""The site with its worker, its socket and a scripted model, new for each test."""

from tests.live.conftest import site as site
