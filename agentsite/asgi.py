"""The ASGI application: static files, pages, sockets and the embedded worker."""

from __future__ import annotations

import gc
import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentsite.settings")
pages = get_asgi_application()

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402 (Django must be set up first)
from channels.sessions import CookieMiddleware, SessionMiddleware  # noqa: E402
from django.conf import settings  # noqa: E402
from django.urls import path, re_path  # noqa: E402
from servestatic import ServeStaticASGI  # noqa: E402

from agentsite.embedded import EmbeddedWorker  # noqa: E402
from agentsite.middleware import BodylessResponses  # noqa: E402
from chat.live.board import BoardConsumer  # noqa: E402
from chat.live.chat_consumer import ChatConsumer  # noqa: E402
from chat.live.sidebar_consumer import SidebarConsumer  # noqa: E402
from chat.live.socket_auth import RefusedSocket, SameOrigin  # noqa: E402

sockets = URLRouter(
    [
        path("ws/conversations/<uuid:conversation_id>/", ChatConsumer.as_asgi()),
        path("ws/board/", BoardConsumer.as_asgi()),
        path("ws/", SidebarConsumer.as_asgi()),
        re_path("", RefusedSocket.as_asgi()),  # Channels raises an exception if no route matches
    ]
)
router = ProtocolTypeRouter(
    {
        "http": BodylessResponses(
            ServeStaticASGI(
                pages,
                root=settings.STATIC_ROOT,
                prefix=settings.STATIC_URL,
                allow_all_origins=False,
                mimetypes={".webmanifest": "application/manifest+json"},
            )
        ),
        "websocket": SameOrigin(CookieMiddleware(SessionMiddleware(sockets))),
    }
)
application = EmbeddedWorker(router)

# The 110,000 objects loaded so far live as long as the process. Each full collection would visit them, which
# takes 0.1 s in which nothing else runs.
gc.collect()
gc.freeze()
