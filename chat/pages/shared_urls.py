"""Public URLs beneath a share token."""

from django.urls import path

from chat.pages import shared

urlpatterns = [
    path("", shared.shared, name="shared"),
    path("replay/", shared.shared_replay, name="shared_replay"),
    path("pictures/<str:digest>/", shared.shared_picture, name="shared_picture"),
    path("images/<path:path>", shared.shared_image, name="shared_image"),
    path("files/<path:path>", shared.shared_file, name="shared_file"),
]
