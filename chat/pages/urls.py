"""The addresses of the chat."""

from django.urls import include, path

from chat.pages import (
    approvals,
    board,
    bring_in,
    conversation,
    conversations,
    files,
    follow_ups,
    health,
    metrics,
    new_conversation,
    plan,
    profile_choice,
    sign_in,
    unfinished,
)

urlpatterns = [
    path("", new_conversation.new_conversation, name="new_conversation"),
    path("board/", board.board, name="board"),
    path("board/seen/", board.see_all, name="see_all"),
    path("conversations/", conversations.conversations, name="conversations"),
    path("conversations/import/", bring_in.bring_in, name="import"),
    path("conversations/<uuid:conversation_id>/", conversation.show, name="conversation"),
    path("conversations/<uuid:conversation_id>/messages/", conversation.send, name="send_message"),
    path("conversations/<uuid:conversation_id>/stop/", conversation.stop, name="stop"),
    path(
        "conversations/<uuid:conversation_id>/tool-calls/<int:tool_call_id>/decide/",
        approvals.decide,
        name="decide",
    ),
    path(
        "conversations/<uuid:conversation_id>/follow-ups/<int:follow_up_id>/take-back/",
        follow_ups.take_back,
        name="take_back_follow_up",
    ),
    path(
        "conversations/<uuid:conversation_id>/follow-ups/taken-back/<uuid:act>/",
        follow_ups.taken_back,
        name="taken_back",
    ),
    path("conversations/<uuid:conversation_id>/follow-ups/send/", follow_ups.send, name="send_follow_ups"),
    path("conversations/<uuid:conversation_id>/turns/<int:turn_id>/retry/", conversation.retry, name="retry"),
    path("conversations/<uuid:conversation_id>/profile/", profile_choice.choose, name="choose_profile"),
    path("conversations/<uuid:conversation_id>/rename/", conversation.rename, name="rename"),
    path("conversations/<uuid:conversation_id>/delete/", conversation.delete, name="delete"),
    path("conversations/<uuid:conversation_id>/continue/", unfinished.go_on, name="continue"),
    path("conversations/<uuid:conversation_id>/dismiss/", unfinished.dismiss, name="dismiss"),
    path("conversations/<uuid:conversation_id>/seen/", board.see, name="see"),
    path("conversations/<uuid:conversation_id>/seen/<int:turn_id>/", board.looked, name="looked"),
    path("conversations/<uuid:conversation_id>/plan/", plan.plan, name="plan"),
    path(
        "conversations/<uuid:conversation_id>/plan/calls/<int:tool_call_id>/", plan.call, name="call_in_plan"
    ),
    path("conversations/<uuid:conversation_id>/", include("chat.pages.leaving_urls")),
    path("conversations/<uuid:conversation_id>/files/", files.folder, name="files"),
    path("conversations/<uuid:conversation_id>/files/file/", files.file, name="file"),
    path("conversations/<uuid:conversation_id>/files/image/", files.image, name="file_image"),
    path("conversations/<uuid:conversation_id>/pictures/<str:digest>/", files.picture, name="picture"),
    path("conversations/<uuid:conversation_id>/files/download/", files.download, name="file_download"),
    path("conversations/<uuid:conversation_id>/files/zip/", files.download_all, name="files_zip"),
    path("conversations/<uuid:conversation_id>/files/upload/", files.upload, name="files_upload"),
    path("settings/", include("chat.pages.settings.urls")),
    path("sign-in/<str:token>/", sign_in.sign_in, name="sign_in"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", metrics.metrics, name="metrics"),
]
