// Buttons marked data-act do their work without leaving the page. A text that comes back goes into the composer.
{
  const giveBack = (text) => {
    const place = document.getElementById("composer-text");
    place.value = [text, place.value].filter((each) => each.trim()).join("\n\n");
    place.dispatchEvent(new Event("input", { bubbles: true }));
    place.focus();
  };
  // Its files are in the workspace, and named by lines of the text. They come back as files; the lines of those that
  // cannot be fetched, or are too many for one message, stay.
  const fetched = async ({ line, name, address, type }) => {
    const answer = await fetch(address).catch(() => null);
    const path = new URL(address, location.href).searchParams.get("path");
    return answer?.ok ? Object.assign(new File([await answer.blob()], name, { type }), { line, path }) : { line };
  };
  const comeBack = async ([text, attached], signal) => {
    const files = await Promise.all(attached.map(fetched));
    if (signal.aborted) return false;
    const back = files.filter((file) => file instanceof File);
    const asked = new CustomEvent("files-back", { detail: { files: back }, cancelable: true });
    const isTaken = document.getElementById("composer-files")?.dispatchEvent(asked);
    const lines = files.filter((file) => !isTaken || !back.includes(file)).map(({ line }) => line);
    if (text || attached.length) giveBack([text, lines.join("\n")].filter(Boolean).join("\n\n"));
    await asked.detail.keeping; // until then a reload would lose them
    return true;
  };

  // The text that an answer brings is nowhere else any more. So the request has a name, which is kept in the
  // browser until the answer is here; where it is lost, the page asks for the text by that name.
  const SURE = 3000; // milliseconds after which an answer that has not come is taken for lost
  const prefix = () => `act ${shown.path} `;

  const read = async (answer) => {
    const text = await plainText(answer);
    if (answer.ok) return [text, JSON.parse(answer.headers.get("Attached") ?? "[]")];
    if (text) note(text); // somebody else was first
    return ["", []];
  };

  // On the board, what is refused names its conversation by a link.
  const showMarkup = (status, body) => {
    markOffered(body);
    if (status !== 409) return;
    note(body.textContent);
    noteLine().replaceChildren(...body.childNodes);
  };

  const act = async (address, body, undo) => {
    const name = uuid();
    const key = prefix() + name;
    const { signal } = shown.gone;
    body.append("act", name);
    if (document.getElementById("composer-text")) kept.set(key, Date.now()); // elsewhere no text comes back
    const answer = await post(address, body);
    if (signal.aborted) return; // asked for again where the user comes back to it
    if (answer.status === 200 && undo) offer(undo, await answer.text());
    else if (answer.headers.get("Content-Type")?.startsWith("text/html")) showMarkup(answer.status, parsed(await answer.text()).body);
    else if (!undo && !(await comeBack(await read(answer), signal))) return answer.ok;
    if (answer.status < 500) kept.set(key, null);
    return answer.ok;
  };

  let again;
  const askAgain = () => {
    clearTimeout(again);
    if (kept.keys(prefix()).length) again = setTimeout(() => collect().catch(askAgain), SURE);
  };
  const collect = async () => {
    const { path, gone: { signal } } = shown;
    for (const key of kept.keys(prefix())) {
      if (Math.abs(Date.now() - kept.get(key)) < SURE) {
        askAgain(); // it may be on its way
        continue;
      }
      const answer = await fetch(`${path}follow-ups/taken-back/${key.slice(prefix().length)}/`);
      if (signal.aborted) return;
      const back = await read(answer);
      if (kept.get(key) === null) continue;
      if (!(await comeBack(back, signal))) return;
      if (answer.ok || answer.status === 404) kept.set(key, null);
    }
  };

  // A message waits until the model or profile chosen for it is saved, or that takes too long.
  let choice = null;
  let isHeld = false;
  document.addEventListener(
    "submit",
    (event) => {
      if (event.target.id !== "composer" || !choice) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      if (isHeld) return;
      isHeld = true;
      const tooLong = new Promise((resolve) => setTimeout(resolve, SURE));
      Promise.race([choice, tooLong]).then(() => {
        isHeld = false;
        choice = null;
        event.target.requestSubmit(event.submitter);
      });
    },
    true,
  );

  // On the board the next row takes the place of the one that goes: a double click acts on one, also where the browser
  // counts it as two, as they meet two rows. Nowhere is a question answered, or a plan continued, whose button has just
  // come under the finger in the place of one that was pressed.
  const SETTLE = 1000; // milliseconds
  const NEAR = 24; // pixels
  let pressed = { at: 0, x: 0, y: 0 };
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("#board :is(button, a), [name=decision], .unfinished button, .undo-note button");
    if (!button || event.defaultPrevented) return;
    const { clientX: x, clientY: y, detail } = event;
    const isNear = Math.hypot(x - pressed.x, y - pressed.y) < NEAR && Date.now() - pressed.at < SETTLE;
    if (detail > 1 || (detail && isNear && button.matches("#board *, [name=decision], [data-follow]"))) event.preventDefault();
    else if (button.matches("#board button, [name=decision], .undo-note button")) pressed = { at: Date.now(), x, y };
  });
  document.addEventListener("submit", async (event) => {
    const button = event.submitter;
    if (!button?.hasAttribute("data-act")) return;
    event.preventDefault();
    const body = new FormData(event.target, button);
    forgetNote();
    // Or a second click would bring a text twice, and one on another answer would be too late.
    const pressed = button.closest(".approval")?.querySelectorAll("button") ?? [button];
    for (const each of pressed) each.disabled = true;
    try {
      const done = act(button.formAction, body, button.dataset.act && document.getElementById(button.dataset.act));
      if (["model", "profile"].includes(button.name)) choice = done.catch(() => {});
      if (await done) {
        delete event.target.dataset.changed;
        button.closest("dialog:not(#files-panel)")?.close();
      }
    } catch {
      warnLost();
      askAgain();
    } finally {
      for (const each of pressed) each.disabled = false;
      if (!isHeld) choice = null;
    }
  });
  onContent(askAgain);
  document.addEventListener("htmx:ws:after:connection", askAgain);
}

// The buttons that lead from one version to another keep their place and the keyboard, though messages differ in height, and
// what is in view stays as a turn is deleted, though the transcript is drawn anew; earlier turns that it lacks then are fetched,
// as far as the page had them.
{
  const topOf = (element) => element.getBoundingClientRect().top;
  let pressed = null; // the latest one: the ids of its turn and of that which is to be found in its place, and the place
  const switched = (turn, button) => {
    const to = `turn-${button.formAction.match(/turns\/(\d+)/)[1]}`;
    const first = document.querySelector("#transcript > .turn").id;
    const direction = button.dataset.versions;
    return { from: turn.id, to, first: first === turn.id ? to : first, top: topOf(button), direction };
  };
  const deleted = (turn) => {
    const [before, after] = [turn.previousElementSibling, turn.nextElementSibling];
    const stays = before?.matches(".turn") ? before : after;
    if (!stays?.matches(".turn")) return null;
    const first = stays === after ? after : document.querySelector("#transcript > .turn");
    return { from: turn.id, to: stays.id, first: first.id, top: topOf(stays === after ? turn : stays) };
  };
  document.addEventListener("submit", ({ submitter }) => {
    const [, key] = submitter?.formAction.match(/turns\/(\d+)\/delete\/$/) ?? [];
    const turn = key ? document.getElementById(`turn-${key}`) : submitter?.dataset.versions && submitter.closest(".turn");
    pressed = turn ? (key ? deleted(turn) : switched(turn, submitter)) : null;
  });
  // Who goes on with something else while it is on its way keeps the keyboard there.
  const leave = () => pressed && (pressed.isLeft = true);
  for (const type of ["pointerdown", "keydown"]) addEventListener(type, leave, true);
  const fetchMissing = () => {
    const earlier = document.getElementById("earlier");
    if (!earlier || pressed.asked === earlier) return;
    pressed.asked = earlier;
    fetchTurns(earlier, pressed.first).then(stay, () => {});
  };
  const stay = () => {
    if (!pressed || document.getElementById(pressed.from)) return;
    const turn = document.getElementById(pressed.to);
    if (!turn) return fetchMissing();
    const buttons = pressed.direction ? [...turn.querySelectorAll("[data-versions]")] : [];
    if (pressed.direction && !buttons.length) return;
    const button = buttons.find(({ dataset }) => dataset.versions === pressed.direction) ?? buttons[0];
    const isElsewhere = pressed.isLeft && !document.activeElement.matches("body, [data-versions]");
    if (!isElsewhere) button?.focus({ preventScroll: true });
    layOutAbove(button ?? turn);
    document.getElementById("scroll").scrollTop += topOf(button ?? turn) - pressed.top;
    pressed = null;
  };
  document.addEventListener("htmx:ws:after:message:incoming", stay);
  document.addEventListener("htmx:after:swap", stay);
  onContent(() => (pressed = null));
}

// The keyboard goes on at the composer, or at the board's first heading.
const removeNote = (note) => {
  const heading = document.querySelector("#board h2");
  note.remove();
  if (document.getElementById("composer-text")) focusComposer();
  else heading?.focus({ preventScroll: true });
};

// Undoes what the note in the content offers to undo.
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.parentElement.id !== "undo") return;
  event.preventDefault();
  const answer = await post(form.action, new FormData(form)).catch(() => null);
  if (!answer?.ok) return warnLost();
  removeNote(form);
});

// A note that offers Undo takes the place of the one before. It stays away in this tab once it is closed, and is not
// offered again on the list, but for what was deleted.
const undoKey = (note) => `undo ${note.dataset.undo}`;
// Or where a conversation's menu did it, which also takes it back.
const markOffered = (place) => {
  const note = place.querySelector(".undo-note[data-undo]");
  if (note && note.dataset.kind !== "delete") keptInTab.set(undoKey(note), "offered");
};
const offer = (place, html) => {
  for (const each of document.querySelectorAll(".undo-note[data-undo]")) each.remove();
  place.innerHTML = html.trim();
  markOffered(place);
};
{
  document.addEventListener("click", (event) => {
    const closed = event.target.closest?.(".undo-note__close")?.closest(".undo-note");
    if (!closed || event.defaultPrevented) return; // as by the second click of a double one
    if (closed.dataset.undo) keptInTab.set(undoKey(closed), "closed");
    removeNote(closed);
  });
  onContent(() => {
    for (const each of document.querySelectorAll(".undo-note[data-undo]")) if (keptInTab.get(undoKey(each))) each.remove();
  });
}

// Whoever has chosen who answers goes on writing; where that would raise a keyboard on the screen, they tap.
const focusComposer = () => raisesKeyboard() || document.getElementById("composer-text")?.focus();

// A menu goes away once a file is downloaded from it.
document.addEventListener("click", ({ target }) => target.closest?.(".menu a[download]")?.closest("[popover]").hidePopover());

// Other forms that need a little more than HTML.
document.addEventListener("submit", (event) => {
  const goesOn = event.target.matches("#composer, #turn-dialog form") || event.submitter?.matches("[data-follow], [data-versions]");
  if (goesOn) document.getElementById("undo")?.replaceChildren();
  // A menu goes away once something in it is chosen, and gives the keyboard back to its button.
  event.submitter?.closest(".profile-menu, .menu__items .menu__item")?.closest("[popover]").hidePopover();
  if (event.submitter?.closest(".profile-menu")) focusComposer();
  // A tag that was sent leaves its field, which keeps the keyboard for the next one.
  if (event.target.matches(".tag-form")) setTimeout(() => event.target.reset());
});
// Files that are too large are refused before they are sent.
document.addEventListener("change", ({ target }) => {
  if (!target.matches("form:not(#composer) [type=file][data-most-bytes]")) return;
  const size = [...target.files].reduce((sum, file) => sum + file.size, 0);
  target.setCustomValidity(size > Number(target.dataset.mostBytes) ? target.dataset.tooLarge : "");
  target.reportValidity();
});
// A field that the browser refuses can be seen, or the form would do nothing.
document.addEventListener("invalid", ({ target }) => {
  for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
}, true);
// The models of another connection: those of the last one are no answer while the list is on its way.
document.addEventListener("htmx:before:request", (event) => {
  if (event.target.matches?.("datalist")) event.target.replaceChildren();
});
// Models that come late leave what was chosen meanwhile.
document.addEventListener("htmx:before:swap", ({ target, detail }) => {
  const select = target.closest?.("select");
  if (select) detail.ctx.chosen = { select, value: select.value };
});
document.addEventListener("htmx:after:swap", ({ detail }) => {
  const { select, value } = detail.ctx.chosen ?? {};
  if ([...(select?.options ?? [])].some((option) => option.value === value)) select.value = value;
});
// A suggestion is put into the composer, to be changed or sent: in place of another, and behind what was written.
document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-fill]");
  const place = document.getElementById("composer-text");
  if (!button || !place) return;
  event.preventDefault();
  const written = place.value.trim();
  const isIdea = [...document.querySelectorAll("[data-fill]")].some((each) => each.value === written);
  place.focus();
  if (isIdea) place.select();
  else place.setSelectionRange(place.value.length, place.value.length);
  document.execCommand("insertText", false, `${written && !isIdea ? "\n\n" : ""}${button.value}`); // so that it can be undone
});
// A form to be sent without a click, once: the test of a connection that was just added.
onContent(() => document.querySelector("form[data-at-once]")?.requestSubmit());
// The profile and the model of a new conversation go with its first message. The server draws what depends on them.
document.addEventListener("click", (event) => {
  const option = event.target.closest?.("[data-profile], [data-model]");
  if (!option) return;
  const { profile, model } = document.getElementById("composer").elements;
  if (option.matches("[data-profile]")) {
    event.preventDefault();
    profile.value = option.dataset.profile;
    document.querySelector(".profile-choice__title").textContent = option.querySelector(".profile-menu__title").textContent;
  } else {
    model.value = option.value;
    const [title, itsModel = title] = option.children;
    document.querySelector(".model-choice__name").textContent = (option.value ? title : itsModel).textContent;
  }
  option.closest("[popover]")?.hidePopover();
  focusComposer();
  profile?.dispatchEvent(new Event("change", { bubbles: true }));
});
