from tests.web.conftest import asked

__all__ = ["asked"]
