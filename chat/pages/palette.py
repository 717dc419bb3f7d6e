"""The palette, the completion of the composer, and the sheet of keys: fetched by the page when they open."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import Resolver404, resolve, reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from chat.agent.scan import is_utf8, scan_workspace
from chat.agent.workspace import WorkspaceError
from chat.files.conversation_workspace import folder_of, workspace_of
from chat.models import Conversation, ModelSettings, Tag
from chat.pages.audience import audience
from chat.pages.conversation import own_conversation
from chat.pages.model_choice import model_groups, profile_without_model
from chat.pages.signed_in import SignedInRequest
from chat.search.query import QueryRefused, query_of
from chat.search.results import Part, Result, find, has_all, results
from chat.search.store import Term
from chat.search.words import prepared

MAX_CONVERSATIONS = 8
MAX_RANKED = 200  # matching conversations, of which those with all words in their title come first
MAX_MODELS = 8
MAX_TAGS = 5
MAX_COMPLETIONS = 20
MAX_FILES = 5000  # that are looked through


@dataclass
class Option:
    """A link to `href`, or a button that enters `insert` or clicks the control `click` ("?" shows keys)."""

    title: str
    note: str = ""
    at: datetime.datetime | None = None
    href: str = ""
    click: str = ""
    insert: str = ""
    name: str = ""  # typed after a slash
    download: bool = False
    parts: Sequence[Part] = ()  # the title, with hits
    excerpt: Sequence[Part] = ()
    model: ModelSettings | None = None


@dataclass
class Group:
    title: str
    options: list[Option] = field(default_factory=list)


@audience("signed_in")
@require_safe
def palette(request: SignedInRequest) -> HttpResponse:
    """Commands, settings, tags, conversations and models that match `?q=`; else recent conversations.

    With `search`, as from the search box, what matches in conversations comes first.
    """
    typed = request.GET.get("q", "").strip()
    page, conversation = _page_of(request)
    settings = _("Settings")
    commands = [*_commands(page, conversation), *_places(page, conversation)]
    found = [
        Group(_("Commands"), _matching(commands, typed)),
        Group(settings, _matching(_settings(request), typed, also=settings)),
        Group(_("Models"), _models(request, page, conversation, typed) if typed else []),
    ]
    conversations = Group(_("Conversations"), _conversations(request, conversation, typed))
    tags = Group(_("Tags"), _tags(request, typed) if typed else [])
    if typed and "search" not in request.GET:  # few commands match what is typed, and those are meant
        groups = [*found[:2], tags, conversations, found[2]]
    else:
        groups = [conversations, tags, *found]
    if typed:
        address = f"{reverse('conversations')}?{urlencode({'q': typed})}"
        groups.append(Group("", [Option(_("Search all conversations for “%s”") % typed, href=address)]))
    return _options(request, groups, conversation, typed)


@audience("signed_in")
@require_safe
def complete(request: SignedInRequest) -> HttpResponse:
    """What the composer offers behind a `?sign=`: commands, files of the workspace, or items of the plan."""
    page, conversation = _page_of(request)
    sign, typed = request.GET.get("sign", ""), request.GET.get("q", "")
    match sign:
        case "/":
            options = _named(_commands(page, conversation), typed)
        case "@" if conversation:
            options = _files(conversation, typed)
        case "#" if conversation:
            options = _items(conversation, typed)
        case _:
            options = []
    return _options(request, [Group("", options)], conversation, sign + typed)


@audience("signed_in")
@require_safe
def keys(request: SignedInRequest) -> HttpResponse:
    """The sheet of keys, as a dialog."""
    control = "⌘" if "Mac" in request.headers.get("User-Agent", "") else "Ctrl"
    context = {"commands": _command_titles(), "control": control}
    return render(request, "partials/_keys.html", context)


def _options(
    request: SignedInRequest, groups: Iterable[Group], conversation: Conversation | None, typed: str
) -> HttpResponse:
    context = {
        "groups": [each for each in groups if each.options],
        "conversation": conversation,
        "typed": typed,
    }
    return render(request, "partials/_options.html", context)


def _page_of(request: SignedInRequest) -> tuple[str, Conversation | None]:
    """The name of the page that the user is on, and its conversation."""
    try:
        match = resolve(urlsplit(request.headers.get("HX-Current-URL", "")).path)
    except Resolver404:
        return "", None
    key = match.kwargs.get("conversation_id")
    return match.url_name or "", own_conversation(request, key) if isinstance(key, uuid.UUID) else None


def _command_titles() -> dict[str, str]:
    """All commands, by what is typed after a slash; some are offered only in a conversation."""
    return {
        "new": _("New conversation"),
        "model": _("Choose a model"),
        "profile": _("Choose a profile"),
        "plan": _("Plan history"),
        "stop": _("Stop the agent"),
        "export": _("Export as Markdown"),
        "help": _("Keyboard shortcuts"),
    }


def _commands(page: str, conversation: Conversation | None) -> list[Option]:
    """The commands with a name that can be used on this page."""
    actions: dict[str, dict[str, Any]] = {
        "new": {"href": reverse("new_conversation")},
        "help": {"click": "?"},
    }
    if page in ("new_conversation", "conversation"):
        actions["model"] = {"click": "#model-choice"}
        actions["profile"] = {"click": "#profile-button"}
    if conversation:
        actions["plan"] = {"href": reverse("plan", args=[conversation.pk])}
        actions["export"] = {"href": reverse("export_markdown", args=[conversation.pk]), "download": True}
        if page == "conversation" and conversation.is_working():
            actions["stop"] = {"click": "#stop"}
    titles = _command_titles().items()
    return [Option(title, name=name, **actions[name]) for name, title in titles if name in actions]


def _places(page: str, conversation: Conversation | None) -> list[Option]:
    """The commands without a name: what the conversation's menu offers, and the other pages."""
    options = []
    if conversation:
        titles = {"files": _("Files"), "shares": _("Share"), "replay": _("Replay")}
        options += [
            Option(title, href=reverse(name, args=[conversation.pk])) for name, title in titles.items()
        ]
    if conversation and page == "conversation":
        kinds = {"unpin": _("Unpin")} if conversation.pinned else {"pin": _("Pin")}
        kinds |= {"bring_back": _("Unarchive")} if conversation.archived else {"archive": _("Archive")}
        options += [
            Option(_("Rename"), click="#title [data-rename]"),
            *[Option(title, click=f"#organised [value={kind}]") for kind, title in kinds.items()],
            Option(_("Delete"), click="#conversation-menu [commandfor=delete-dialog]"),
        ]
    return [
        *options,
        Option(_("Board"), href=reverse("board")),
        Option(_("All conversations"), href=reverse("conversations")),
        Option(_("Import conversations"), href=reverse("import")),
        Option(_("Sign out"), href=reverse("before_sign_out")),
    ]


def _settings(request: SignedInRequest) -> list[Option]:
    titles = {
        "connections": (_("Connections"), _("models, keys")),
        "profiles": (_("Profiles"), _("instructions, tools, permissions")),
        "usage": (_("Usage"), _("tokens, cost")),
        "plan_figures": (_("Plan statistics"), ""),
        "preferences": (_("Preferences"), _("language, light or dark theme, time zone, password")),
    }
    if request.user.is_superuser:
        titles["mcp_servers"] = (_("MCP servers"), _("tools"))
        titles["users"] = (_("Users"), _("accounts, sign-in links"))
    if request.user.is_staff:
        titles["admin:index"] = (_("Administration"), _("users"))
    return [Option(title, note, href=reverse(name)) for name, (title, note) in titles.items()]


def _matching(options: Iterable[Option], typed: str, also: str = "") -> list[Option]:
    """The options with a word of title, name, note or `also` that begins with each word that is typed."""
    return [each for each in options if _matches(f"{each.title} {each.name} {each.note} {also}", typed)]


def _matches(text: str, typed: str) -> bool:
    """Whether each typed word is at a word's start, or in a text without blanks, as Chinese is."""
    words = text.casefold().split()
    typed_words = typed.casefold().split()
    return all(
        any(word.startswith(each) or (not word.isascii() and each in word) for word in words)
        for each in typed_words
    )


def _named(options: Iterable[Option], typed: str) -> list[Option]:
    """The options whose name or title matches, with the name as the title."""
    named = [each for each in options if each.name]
    found = [each for each in named if each.name.startswith(typed.casefold()) or _matches(each.title, typed)]
    for each in found:
        each.title, each.note = f"/{each.name}", each.title
    return found


def _conversations(request: SignedInRequest, current: Conversation | None, typed: str) -> list[Option]:
    """The conversations that contain what is typed, with an excerpt; else recent ones, `?last=` first."""
    if typed:
        return _found(request, typed)
    recent = Conversation.objects.visible_to(request.user).current()
    others = recent.exclude(pk=current.pk) if current else recent
    try:
        last = list(others.filter(pk=uuid.UUID(request.GET.get("last", ""))))
    except ValueError:
        last = []
    rows = [*last, *others.exclude(pk__in=[each.pk for each in last])[:MAX_CONVERSATIONS]]
    return [Option(row.title, at=row.updated_at, href=_address(row)) for row in rows[:MAX_CONVERSATIONS]]


def _tags(request: SignedInRequest, typed: str) -> list[Option]:
    found = Tag.containing(request.user.pk, typed)[:MAX_TAGS]
    address = reverse("conversations")
    return [Option(f"#{tag.word}", href=f"{address}?{urlencode({'tag': tag.word})}") for tag in found]


def _found(request: SignedInRequest, typed: str) -> list[Option]:
    try:
        query = query_of(typed)
    except QueryRefused:
        return []
    matches = find(Conversation.objects.visible_to(request.user), request.user.pk, query)
    ranked = Conversation.objects.filter(search_index_state__in=matches.states[:MAX_RANKED])
    rows = list(ranked.select_related("search_index_state"))
    rows.sort(key=lambda row: not has_all(prepared(row.title), matches.terms))  # newest first among equals
    return [_result(each, matches.terms) for each in results(rows[:MAX_CONVERSATIONS], matches, 1)]


def _result(found: Result, terms: Sequence[Term]) -> Option:
    """A conversation with all typed words in its title, or the best place in it for them."""
    row = found.conversation
    note = _("archived") if row.archived else ""
    option = Option(row.title, note, at=row.updated_at, href=_address(row), parts=found.title)
    if found.hits and not has_all(prepared(row.title), terms):
        option.href, option.excerpt = found.hits[0].address, found.hits[0].excerpt
    return option


def _address(conversation: Conversation) -> str:
    return reverse("conversation", args=[conversation.pk])


def _models(
    request: SignedInRequest, page: str, conversation: Conversation | None, typed: str
) -> list[Option]:
    """The models with all typed words in their name; none on a page about a conversation, as its plan."""
    if conversation and page != "conversation":
        return []
    groups = model_groups(request.user, profile_without_model(request, conversation))
    words = typed.casefold().split()
    found = [
        (group, model)
        for group in groups
        for model in group.models
        if all(word in f"{group.title} {model.model}".casefold() for word in words)
    ]
    if conversation:
        return [Option(model.model, group.title, model=model) for group, model in found[:MAX_MODELS]]
    new = reverse("new_conversation")
    return [
        Option(model.model, group.title, href=f"{new}?{urlencode({'model': model.choice})}")
        for group, model in found[:MAX_MODELS]
    ]


def _files(conversation: Conversation, typed: str) -> list[Option]:
    """Files of the workspace with that in their path; those whose name begins with it first."""
    if not folder_of(conversation).exists():
        return []
    try:
        scan = scan_workspace(workspace_of(conversation), max_entries=MAX_FILES)
    except WorkspaceError:
        return []
    typed = typed.casefold()
    paths = [each.path for each in scan.entries if each.kind == "file" and is_utf8(each.path)]
    found = [path for path in paths if typed in path.casefold() and path.isprintable()]
    found.sort(key=lambda path: not path.rpartition("/")[2].casefold().startswith(typed))
    return [_file(path) for path in found[:MAX_COMPLETIONS]]


def _file(path: str) -> Option:
    folder, _slash, name = path.rpartition("/")
    return Option(name, note=folder, insert=f'"{path}"' if " " in path else path)


def _items(conversation: Conversation, typed: str) -> list[Option]:
    """Items of the conversation's latest list with that in their text."""
    revision = conversation.revision()
    texts = [str(item.get("content", "")) for item in revision.items] if revision else []
    found = [text for text in texts if typed.casefold() in text.casefold()]
    return [Option(text, insert=text) for text in found[:MAX_COMPLETIONS]]
