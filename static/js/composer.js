// The composer: Enter sends, and what was typed stays until the server has accepted it, also across a reload.
{
  const composer = () => document.getElementById("composer");
  // By its id: the welcome page has buttons of the same name, each with a whole message.
  const field = () => document.getElementById("composer-text");

  document.addEventListener("keydown", (event) => {
    const text = event.target;
    if (text.id !== "composer-text" || event.key !== "Enter" || event.shiftKey) return;
    if (isComposing(event)) return;
    if (isTouch() && !event.ctrlKey && !event.metaKey) return; // a keyboard on the screen has no other key for a new line
    event.preventDefault();
    if (event.repeat) return; // what is refused is sent by pressing it again
    if (begun !== null && text.value !== begun) return; // what follows the first message waits for its conversation
    if (text.value.trim() || text.form.elements.files?.files.length) text.form.requestSubmit();
  });

  // The first message, on its way to a page of its own. What is typed until that page is there goes along.
  let begun = null;
  const NEXT = "typed after the first message";
  const FIRST = "sent the first message";

  // What is typed and which files go with it, by user and page; and where it is on its way, perhaps as files without a
  // word, the id by which the server knows a repetition.
  const place = () => draftKey(shown.path);
  const filesOf = (form) => [...(form.elements.files?.files ?? [])].map(fileId);
  // What a new conversation begins with.
  const CHOICES = ["profile", "model", "workspace"];
  const CHOSEN = "chosen for the first message";
  const choicesOf = ({ elements }) => Object.fromEntries(CHOICES.filter((name) => elements[name]).map((name) => [name, elements[name].value]));
  // When each page that had the draft last changed it. One that has all changes of another is what became of it.
  let typed = {};
  const isChangedSince = (draft, other) => Object.entries(draft.typed ?? {}).some(([id, at]) => !(at <= other.typed?.[id]));
  const keep = (places = [kept, keptInTab]) => {
    const { client_id } = composer().elements;
    const text = field();
    const draft = {
      text: text.value,
      files: filesOf(composer()),
      choices: choicesOf(composer()),
      sent: text.value === text.dataset.sent,
      client_id: client_id.value,
      typed,
    };
    const isEmpty = !text.value.trim() && !draft.files.length && !draft.sent;
    if (isEmpty) typed = {};
    for (const each of places) {
      if (isEmpty && each === kept && isChangedSince(draftOf(place()), draft)) continue; // another tab has that one
      each.set(place(), isEmpty ? null : JSON.stringify(draft));
    }
  };
  const draftOf = (where, storage = kept) => {
    try {
      return JSON.parse(storage.get(where)) ?? {};
    } catch {
      return {};
    }
  };
  // Two tabs may be at the same page: each has what was typed in it.
  const ownDraft = () => (keptInTab.get(place()) ? draftOf(place(), keptInTab) : draftOf(place()));
  // Whether a draft is, or became in another tab, what was sent or emptied there, and was not changed since.
  const isDone = (draft, was) => {
    if (was.sent && draft.text === was.text && `${draft.files ?? ""}` === `${was.files ?? ""}`) return true;
    return Object.keys(draft.typed ?? {}).length > 0 && !isChangedSince(draft, was);
  };

  // An address that says what to begin with has the last word; what is not offered any more is not chosen.
  const choose = (choices) => {
    const { elements } = composer();
    if (CHOICES.some((name) => new URLSearchParams(location.search).has(name))) return;
    const isOffered = (name, value) => name !== "profile" || [...document.querySelectorAll("[data-profile]")].some((each) => each.dataset.profile === value);
    const other = CHOICES.filter((name) => elements[name] && name in choices && elements[name].value !== choices[name]);
    for (const name of other) if (isOffered(name, choices[name])) elements[name].value = choices[name];
    // The server draws what depends on it. On a page that was just loaded, htmx listens from its next task on.
    if (other.length) setTimeout(() => elements.profile?.dispatchEvent(new Event("change", { bubbles: true })));
  };

  // Whatever is sent next is another message.
  const renew = () => {
    const { client_id } = composer().elements;
    const text = field();
    delete text.dataset.sent;
    client_id.value = uuid();
  };

  const onItsWay = () => {
    const text = field();
    return (text.value || filesOf(composer()).length) && text.value === text.dataset.sent;
  };

  // An answer that is lost on a socket that lives is had by sending again: twice is harmless.
  let waiting;
  const expectAnswer = (within) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (!onItsWay()) return;
      if (document.getElementById("connection").dataset.state === "live") composer().requestSubmit();
      else note(field().dataset.unsent);
      expectAnswer(2 * within);
    }, within);
  };

  let underway = { id: "", text: "" }; // what was sent last
  const send = () => {
    const text = field();
    if (begun !== null && text.value !== begun) renew();
    text.dataset.sent = text.value;
    underway = { id: composer().elements.client_id.value, text: text.value };
    keep();
    if (composer().hasAttribute("hx-ws:send")) return expectAnswer(1500);
    begun = text.value;
    keptInTab.set(FIRST, "yes");
    text.setSelectionRange(begun.length, begun.length);
  };

  // What was typed behind it since then stays. A change of the text would end a composition.
  let isHeld = false;
  addEventListener("compositionstart", () => (isHeld = true));
  addEventListener("compositionend", () => (isHeld = false));
  const takeOut = (sent) => {
    const text = field();
    if (isHeld) return addEventListener("compositionend", () => takeOut(sent), { once: true, signal: shown.gone.signal });
    if (!text.value.startsWith(sent)) return;
    const [start, end] = [text.selectionStart, text.selectionEnd].map((at) => Math.max(0, at - sent.length));
    text.value = text.value.slice(sent.length);
    text.setSelectionRange(start, end);
    keep();
  };

  // A message that did not arrive is sent once the line is back, unless it is changed or the page is left.
  const sendAgain = async (signal) => {
    await new Promise((resolve) => setTimeout(resolve, 3000));
    if (signal.aborted || !onItsWay()) return;
    const answer = await fetch(location.href, { method: "HEAD" }).catch(() => null);
    if (!answer) return sendAgain(signal);
    if (!signal.aborted && onItsWay()) composer().requestSubmit();
  };

  const wait = (signal) => {
    note(field().dataset.unsent);
    sendAgain(signal);
  };

  const sendFrom = (path, { text, client_id, choices }) => {
    const body = new FormData();
    const csrfmiddlewaretoken = document.querySelector("[name=csrfmiddlewaretoken]").value;
    for (const [name, value] of Object.entries({ ...choices, text, client_id, csrfmiddlewaretoken })) body.set(name, value);
    return post(path === "/" ? path : `${path}messages/`, body).catch(() => null);
  };

  // Where one writes, it is said that a message of another page was sent, with the way to it.
  const tellSent = (address) => {
    if (!composer()) return;
    const line = document.getElementById("composer-note");
    const link = Object.assign(document.createElement("a"), { href: address, textContent: line.dataset.open });
    note(line.dataset.delivered, true);
    line.append(" ", link);
  };

  // First messages whose page was left, or closed, before they had their conversation. They are sent again, as twice is
  // harmless, while the user writes the next one.
  const LEFT = "left first messages";
  const left = () => JSON.parse(keptInTab.get(LEFT) || "[]");
  const setLeft = (drafts) => keptInTab.set(LEFT, drafts.length && JSON.stringify(drafts));
  const takeLeft = () => {
    if (composer().hasAttribute("hx-ws:send")) return [];
    const draft = ownDraft();
    if (draft.sent && !draft.files?.length && !field().value) {
      setLeft([...left(), draft]);
      for (const name of [FIRST, CHOSEN]) keptInTab.set(name, null);
      forgetDraft(shown.path, draft.client_id);
    }
    return left();
  };
  const deliver = async (draft, signal) => {
    const { text, client_id } = draft;
    const answer = await sendFrom("/", draft);
    if (!answer?.ok && signal.aborted) return; // the next page for a first message tries again
    setLeft(left().filter((each) => each.client_id !== client_id));
    if (answer?.ok) return tellSent(answer.url);
    const typed = field().value;
    field().value = [text, typed].filter(Boolean).join("\n");
    if (!typed) field().dataset.sent = text;
    if (!typed) composer().elements.client_id.value = client_id;
    keep();
    if (!typed && !answer) wait(signal);
  };

  // Messages that wait on pages that are not shown. Those with files are sent by their page.
  addEventListener("live", async () => {
    for (const key of kept.keys(draftKey(""))) {
      const path = key.slice(draftKey("").length);
      const draft = draftOf(key);
      if (path === shown.path || !draft.sent || draft.files?.length) continue;
      const was = kept.get(key);
      const answer = await sendFrom(path, draft);
      if (kept.get(key) !== was) continue;
      if ([400, 404].includes(answer?.status)) kept.set(key, JSON.stringify({ ...draft, sent: false }));
      if (!answer?.ok) continue;
      kept.set(key, null);
      tellSent(path === "/" ? answer.url : path);
      const own = draftOf(key, keptInTab);
      if (own.client_id === draft.client_id || isDone(own, draft)) keptInTab.set(key, null);
    }
  });

  onContent((signal) => {
    begun = null;
    clearTimeout(waiting);
    if (!composer()) return;
    const { client_id } = composer().elements;
    const text = field();
    const isLive = composer().hasAttribute("hx-ws:send");
    for (const draft of takeLeft()) deliver(draft, signal);
    const draft = ownDraft();
    text.value ||= draft.text ?? "";
    // On the first page each tab begins a conversation of its own, also with what it took from another.
    typed = (isLive && text.value === draft.text && draft.typed) || {};
    // A page that the browser kept has an id that it may have used since.
    const isRefused = text.defaultValue !== ""; // the server gave it back
    const isSent = draft.sent && text.value === draft.text && !isRefused;
    client_id.value = isSent ? draft.client_id : uuid();
    if (isSent) text.dataset.sent = draft.text;
    choose(draft.text && text.value === draft.text ? draft.choices ?? {} : JSON.parse(keptInTab.get(CHOSEN)) ?? {});
    text.value += keptInTab.get(NEXT) ?? "";
    keptInTab.set(NEXT, null);
    keep([kept]);
    // This page is what a conversation's first message led to.
    const isFirst = keptInTab.get(FIRST);
    keptInTab.set(FIRST, null);
    if (isFirst && isLive) {
      for (const each of [kept, keptInTab]) if (draftOf(draftKey("/"), each).sent) each.set(draftKey("/"), null);
      keptInTab.set(CHOSEN, null);
    } else if (isSent && !isLive) wait(signal);
    composer().addEventListener("lost", () => wait(signal)); // with its files
  });

  // Another tab sent or emptied what stands here, too.
  addEventListener("storage", ({ key, oldValue, newValue }) => {
    if (!key?.startsWith(draftKey("")) || newValue) return;
    const was = JSON.parse(oldValue);
    if (isDone(draftOf(key, keptInTab), was)) keptInTab.set(key, null);
    if (!composer() || key !== place()) return;
    if (isDone({ text: field().value, files: filesOf(composer()), typed }, was) && !onItsWay()) {
      field().value = "";
      composer().elements.files?.dispatchEvent(new Event("files-sent"));
    }
    keep();
  });

  document.addEventListener("input", (event) => {
    const text = event.target;
    if (text.id !== "composer-text") return;
    text.toggleAttribute("data-blank", !text.value.trim());
    note("");
    if (begun !== null && text.value.startsWith(begun)) return keptInTab.set(NEXT, text.value.slice(begun.length));
    if (text.dataset.sent !== undefined && text.value !== text.dataset.sent) renew();
    typed = { ...typed, [composer().elements.client_id.value]: Date.now() };
    keep();
  });

  document.addEventListener("change", ({ target }) => {
    if (!CHOICES.includes(target.name) || target.form !== composer()) return;
    keptInTab.set(CHOSEN, JSON.stringify(choicesOf(composer())));
    keep();
  });

  // A command is chosen from its list. What looks like one is a message only if it is sent twice or begins with a blank.
  const commandIn = (text) => text.match(/^\/(\p{L}[\p{L}\p{N}_-]*)(?=\s|$)/u)?.[1].toLowerCase();
  const editDistance = (a, b) => {
    let row = [...b, ""].map((_, at) => at);
    for (const [i, letter] of [...a].entries()) {
      const next = [i + 1];
      for (const [j, other] of [...b].entries()) next.push(Math.min(next[j] + 1, row[j + 1] + 1, row[j] + (letter !== other)));
      row = next;
    }
    return row.at(-1);
  };
  let refused = ""; // the text that was taken for a command
  const isIdle = () => document.getElementById("conversation")?.dataset.status === "idle";
  const commandRefusal = (value, { commands, knownCommand, nothingToStop, nearCommand, noCommand }) => {
    const name = commandIn(value);
    if (!name || value === refused) return "";
    refused = value;
    const names = commands.split(" ");
    if (name === "stop" && isIdle()) return nothingToStop;
    const distances = names.map((each) => (each.startsWith(name) ? 0 : editDistance(name, each)));
    const least = Math.min(...distances);
    const sentence = names.includes(name) ? knownCommand : least <= 2 ? nearCommand : noCommand;
    return sentence.replace("/x", `/${name}`).replace("/y", `/${names[distances.indexOf(least)]}`);
  };

  // The socket takes no more; a textarea's own limit would cut a paste off without a word.
  document.addEventListener(
    "submit",
    (event) => {
      if (event.target.id !== "composer" || event.submitter?.name === "text") return;
      const { value, dataset } = field();
      if (!value.trim() && !event.target.elements.files?.files.length) {
        event.preventDefault();
        event.stopImmediatePropagation();
        return field().focus();
      }
      const isTooLong = new Blob([value.trim()]).size > dataset.mostBytes;
      const sentence = isTooLong ? dataset.tooLong : commandRefusal(value, dataset);
      if (!sentence) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      note(sentence);
    },
    true,
  );
  addEventListener("pageshow", (event) => {
    if (event.persisted) begun = null;
  });

  document.addEventListener("submit", (event) => {
    if (event.target.id !== "composer") return;
    if (event.submitter?.name === "text") begun = field().value; // a suggestion; what is typed behind it goes along
    else send();
  });

  // What the server says of a message that this tab sent.
  document.addEventListener("htmx:ws:before:message:incoming", (event) => {
    const data = event.detail.message.data;
    if (!data.startsWith("{") || !composer()) return;
    const said = JSON.parse(data);
    const { client_id } = composer().elements;
    const text = field();
    if (said.type === "error") note(said.message);
    else if (said.type === "accepted" && said.client_id === underway.id && (text.value !== underway.text || underway.id !== client_id.value)) {
      takeOut(underway.text);
      underway.id = "";
      return;
    }
    else if (said.client_id !== client_id.value) return;
    if (said.type === "later") return note(said.message); // the socket ends now, and the next one sends it again
    if (said.type === "accepted") note("");
    if (said.type === "accepted" && text.value === text.dataset.sent) text.value = "";
    if (said.type === "refused") note(said.message);
    renew();
    keep();
  });

  // While the page is not live, what is sent stays in the field, where it can be changed, and is not handed to a socket
  // that would deliver it later.
  document.addEventListener("htmx:ws:before:message:outgoing", (event) => {
    const isLive = document.getElementById("connection").dataset.state === "live";
    if (!isLive || !event.detail.message.values.text?.trim()) event.preventDefault();
  });

  // Nobody knows whether what was on its way as the last connection ended was accepted; twice is harmless.
  addEventListener("live", () => {
    if (composer()?.hasAttribute("hx-ws:send") && onItsWay()) composer().requestSubmit();
  });

  // A socket that will not come back: the form works without it.
  document.addEventListener("htmx:ws:error", (event) => {
    if (event.target.id === "composer") event.target.submit();
  });
}
