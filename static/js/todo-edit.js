// A user changes the list in its panel. What is being typed outlives every redraw; nothing is drawn here: the
// list is as the server drew it, once that has taken the change.
{
  const form = () => document.getElementById("todo-edit");
  const slot = () => document.getElementById("todo-slot");
  const panel = () => document.getElementById("todo-panel");
  const row = (item) => document.getElementById(`todo-${item}`);
  const adder = () => document.getElementById("todo-add") ?? document.getElementById("todo-first");
  const field = (item) => row(item)?.querySelector(".todo__editor textarea");
  const itemOf = (place) => place.closest?.(".todo[id]")?.id.slice("todo-".length);

  // Editors that are open: what is typed in them, and the revision that the user had in view.
  const open = new Map();
  const skipped = new Map(); // those of items that were skipped with other words
  let adding = "";
  let adds = []; // new items on their way
  let begun = false; // whether the panel that comes is the user's own beginning
  let held = null; // what has the focus, for when a redraw takes it away
  let lastLine = null; // for a new item
  const MOVES = ["up", "down"]; // each press counts
  const busy = new Map(); // changes on their way
  const SLOW = 300; // milliseconds after which they show that they are
  const marks = new Map(); // of those that are slow the item, and the attribute that shows it

  const say = (what) => {
    const place = document.getElementById("todo-status");
    const sentence = form().dataset[what] ?? "";
    place.textContent = "";
    setTimeout(() => (place.textContent = sentence), 50); // or the same twice is said once
  };

  // A field that is focused by a script would have the caret ahead of its text.
  const atEnd = (place) => {
    place?.focus();
    if (!place?.matches("input, textarea")) return;
    place.setSelectionRange(place.value.length, place.value.length);
    if (held?.name === place.name) held.at = place.value.length;
  };

  const line = (item) => row(item)?.querySelector(".todo__line");
  const start = (item) => {
    const { words } = row(item).dataset;
    if (!open.has(item)) open.set(item, { words, text: words, revision: panel().dataset.revision, on: panel().dataset.revision });
    row(item).dataset.editing = "";
    field(item).value = open.get(item).text;
  };
  const close = (item) => {
    open.delete(item);
    if (!row(item)) return;
    const inside = field(item).parentElement.contains(document.activeElement);
    delete row(item).dataset.editing;
    if (inside) line(item).focus();
  };

  // A change that does not reach the server is sent again until it does, also from another page; the server takes it
  // once. Another press withdraws a tick.
  const PAUSE = 2000; // milliseconds
  const waiting = new Map(); // by what is done to which item
  const untilSent = async (name, address, body) => {
    const later = form()?.dataset.later;
    const { signal } = shown.gone;
    const sent = { address, body, withdraw: () => {} };
    let answer = null;
    waiting.set(name, sent);
    // Where the user is still there, an error of the server is shown; nowhere else would it be.
    const isDone = () => answer && (answer.status < 500 || !signal.aborted);
    while (((answer = await post(address, body).catch(() => null)), !isDone())) {
      if (later && !signal.aborted && !sent.isLate) warnLost(later);
      sent.isLate = true;
      const isWithdrawn = await new Promise((resolve) => {
        sent.withdraw = () => resolve(true);
        setTimeout(resolve, PAUSE);
      });
      if (isWithdrawn) break;
    }
    waiting.delete(name);
    if (sent.isLate && !waiting.size) document.querySelector(".warning")?.remove();
    return answer;
  };
  const WAITING = "todo changes"; // over a reload
  addEventListener("pagehide", () => {
    const left = [...waiting].map(([name, { address, body }]) => [name, address, [...body]]);
    keptInTab.set(WAITING, left.length && JSON.stringify(left));
  });
  addEventListener("DOMContentLoaded", () => {
    for (const [name, address, fields] of JSON.parse(keptInTab.get(WAITING) || "[]")) {
      const body = new FormData();
      for (const field of fields) body.append(...field);
      untilSent(name, address, body).then(async (answer) => {
        if (answer?.status === 409 && form()?.action === address) showRefused(await answer.text());
      });
    }
    keptInTab.set(WAITING, null);
  });

  let added = []; // by what was sent last
  const send = async (body, name = "") => {
    forgetNote();
    const { signal } = shown.gone;
    const answer = await (name ? untilSent(name, form().action, body) : post(form().action, body).catch(() => null));
    if (signal.aborted || (name && !answer)) return "lost";
    if (![204, 409].includes(answer?.status)) {
      warnLost(form().dataset.lost);
      return "lost";
    }
    const isDone = answer.status === 204;
    if (!isDone) showRefused(await answer.text());
    added = answer.headers.get("Added")?.split(" ").filter(Boolean) ?? [];
    return isDone ? "done" : "refused";
  };

  // Beneath what was refused earlier, and waits for the user; in place of the same change.
  const refused = () => document.getElementById("todo-refused");
  const changesIn = (html) => [...parsed(html).querySelectorAll(".todo-refused__change")];
  const showRefused = (html) => {
    const place = refused();
    const came = changesIn(html);
    const what = (change) => change.querySelector("[name=do]")?.value;
    for (const old of [...place.children]) if (what(old) !== "add" && came.some((change) => what(change) === what(old))) old.remove();
    place.append(...came);
    const at = document.activeElement;
    const goesOn = [adder(), document.getElementById("composer-text")].includes(at) && at.value;
    if (!goesOn) atEnd(came[0].querySelector("label :is(input, textarea), button, a"));
  };

  const restoreMarks = () => {
    for (const [item, mark] of marks.values()) if (row(item)?.hasAttribute(mark) === false) row(item).setAttribute(mark, true);
  };
  const asked = (action, ...items) => {
    const [item] = items;
    const body = new FormData();
    body.append("csrfmiddlewaretoken", form().elements.csrfmiddlewaretoken.value);
    body.append("revision", open.get(item)?.revision ?? panel()?.dataset.revision ?? "");
    if (!item) body.append("do", action);
    for (const each of items) body.append("do", `${action} ${each}`);
    if (action === "reword") body.append(`text-${item}`, field(item).value);
    if (action === "add") body.append("text-new", adds[0]);
    if (action === "add") body.append("new", uuid().slice(0, 8));
    return body;
  };

  const change = async (action, item = "") => {
    if (action === "reword" && ["", row(item).dataset.words].includes(field(item).value.trim())) return close(item);
    if (action === "add") return add();
    const isTick = ["tick", "untick"].includes(action);
    const name = `${isTick ? "tick" : action} ${item}`;
    if (isTick && waiting.get(name)?.isLate) return waiting.get(name).withdraw();
    while (busy.has(name)) {
      if (!MOVES.includes(action)) return;
      await busy.get(name);
    }
    if (row(item)?.querySelector(`[value="${action} ${item}"][aria-disabled]`)) return; // it is at the end already
    if (action === "skip") held = { value: `restore ${item}` };
    if (action === "restore") held = { item, button: 1 };
    if (action === "remove") held = { item: itemOf(row(item).nextElementSibling ?? row(item).previousElementSibling ?? adder()), button: 0 };
    const body = asked(action, item);
    const editor = open.get(item);
    if (["remove", "skip"].includes(action)) open.delete(item); // its words are not for a new item
    const words = field(item)?.value;
    busy.set(name, send(body, name));
    const mark = isTick ? "data-waits" : "aria-busy";
    const slow = setTimeout(() => {
      marks.set(name, [item, mark]);
      restoreMarks();
    }, SLOW);
    const came = await busy.get(name);
    clearTimeout(slow);
    marks.delete(name);
    row(item)?.removeAttribute(mark);
    busy.delete(name);
    if ((came === "lost" || (came === "refused" && action === "skip")) && editor && row(item)) open.set(item, editor);
    if (came === "lost") return;
    // What was refused stands beneath the panel now, with the user's words.
    if (action === "reword" && came === "done" && row(item) && open.has(item) && field(item).value !== words) {
      Object.assign(open.get(item), { words, revision: undefined }); // it was written on while this waited
    } else if (action === "reword" || (action === "remove" && came === "refused")) close(item);
    if (came === "refused") return;
    if (action === "skip" && editor && editor.text !== editor.words) skipped.set(item, editor);
    // Its editor opens again as it is drawn.
    if (action === "restore" && skipped.has(item)) {
      open.set(item, { ...skipped.get(item), revision: undefined, on: panel().dataset.revision });
      skipped.delete(item);
      restore();
    }
    if (action === "remove") return offer("restore", [item]);
    if (!MOVES.includes(action) && undoValue().includes(item)) withdraw(); // it is not as it was added
    say(action);
  };

  const undoPlace = () => document.getElementById("undo");
  const undoValue = () => undoPlace().querySelector("[data-put-back]")?.value.split(" ") ?? [];
  const offer = (action, items, sentence) => {
    undoPlace().replaceChildren(document.getElementById("todo-undo").content.cloneNode(true));
    undoPlace().querySelector("[data-put-back]").value = [action, ...items].join(" ");
    if (sentence) undoPlace().querySelector("[role=status]").textContent = sentence;
  };
  // An offer that holds no more keeps its room, so that no item moves under the finger, until something else is touched.
  const withdraw = () => (undoPlace().firstElementChild.inert = true);
  document.addEventListener("click", ({ target }) => {
    const withdrawn = undoPlace()?.querySelector("[inert]");
    if (withdrawn && !slot().contains(target)) withdrawn.remove();
  });
  document.addEventListener("click", ({ target }) => {
    if (!target.matches?.("[data-put-back]")) return;
    const [action, ...items] = target.value.split(" ");
    if (action === "restore") change(action, items[0]);
    else send(asked(action, ...items), target.value);
    undoPlace().replaceChildren();
  });

  // One after the other, while the user goes on typing. What could not be sent goes back into its line.
  const add = async (text = adder().value) => {
    if (!text.trim()) {
      adder().value = "";
      return adder().focus();
    }
    const sending = adds;
    sending.push(text);
    adder().value = adding = "";
    begun ||= !panel();
    const showSending = () => adder() && (adder().placeholder = `${sending.join("  ")} …`);
    if (waiting.get("new")?.isLate) showSending();
    if (sending.length > 1) return;
    const { placeholder } = adder();
    const slow = setTimeout(showSending, SLOW);
    let came = "done";
    while (sending.length && came === "done") {
      came = await send(asked("add"), "new");
      if (came !== "lost") sending.shift();
      if (came !== "lost" && added.length > 1) offer("remove", added, form().dataset.several.replace("{}", added.length));
      else if (came === "done") say("add");
    }
    clearTimeout(slow);
    if (adder()) adder().placeholder = placeholder;
    if (sending !== adds || !sending.length) return;
    adding = unsent();
    sending.length = 0;
    if (adder()) adder().value = adding;
  };
  const unsent = () => [...(waiting.has("new") ? adds.slice(1) : adds), adding].filter(Boolean).join(" ").replaceAll(/\s*\n\s*/g, " ");

  // Where Add is pressed the field keeps the focus, and a phone its keyboard.
  document.addEventListener("mousedown", (event) => {
    if (event.target.matches?.("[form=todo-edit][value=add]") && document.activeElement === adder()) event.preventDefault();
  });

  // A pasted list is as many items. The field would make one line of it.
  document.addEventListener("paste", (event) => {
    const text = event.clipboardData?.getData("text/plain").trim() ?? "";
    if (event.target !== adder() || !/\S\s*\n\s*\S/.test(text)) return;
    event.preventDefault();
    const { value, selectionStart, selectionEnd } = adder();
    add(value.slice(0, selectionStart) + text + value.slice(selectionEnd));
  });

  document.addEventListener("submit", async (event) => {
    if (event.target.id === "todo-edit") {
      event.preventDefault();
      const [action, item] = (event.submitter?.value ?? "").split(" ");
      if (action !== "save") change(action, item);
    } else if (event.target.matches(".todo-refused__change")) {
      event.preventDefault();
      const came = await send(new FormData(event.target, event.submitter));
      if (came === "lost") return;
      event.target.remove();
      if (came === "done") say(event.submitter.value.split(" ")[0]);
    }
  });

  // An item that moves leaves the pointer over another one: what is pressed again in the same place moves the same item.
  const AGAIN = 1500; // milliseconds
  const NEAR = 4; // pixels
  let moved = { at: 0 };
  document.addEventListener("click", (event) => {
    const { clientX: x, clientY: y, detail } = event;
    const isNear = Math.hypot(x - moved.x, y - moved.y) < NEAR && Date.now() - moved.at < AGAIN;
    if (detail && isNear && event.target.closest("#todo-panel .todo")) {
      event.preventDefault();
      event.stopImmediatePropagation();
      moved.at = Date.now();
      return change(moved.action, moved.item);
    }
    const [action, item] = event.target.closest?.("#todo-panel button[form=todo-edit]")?.value.split(" ") ?? [];
    moved = detail && MOVES.includes(action) ? { at: Date.now(), x, y, action, item } : { at: 0 };
  }, true);

  document.addEventListener("click", (event) => {
    if (!event.target.closest?.("[data-let-be]")) return;
    event.preventDefault();
    event.target.closest("form").remove();
  });

  document.addEventListener("keydown", (event) => {
    const item = itemOf(event.target);
    if (item && event.altKey && ["ArrowUp", "ArrowDown"].includes(event.key)) {
      event.preventDefault();
      change(event.key === "ArrowUp" ? "up" : "down", item);
    }
    const edits = event.target.matches?.(":is(input, textarea)[form='todo-edit']");
    if (!edits || !["Enter", "Escape"].includes(event.key)) return;
    if (event.key === "Enter") event.preventDefault();
    if (isComposing(event)) return;
    if (event.key === "Enter") item ? change("reword", item) : change("add");
    else if (item) close(item);
    else {
      const isEmpty = !event.target.value;
      event.target.value = adding = "";
      const begin = event.target.closest("#todo-begin");
      if (!begin && isEmpty) document.getElementById("composer-text").focus({ preventScroll: true });
      if (!begin) return;
      begin.open = false;
      begin.querySelector("summary").focus();
    }
  });

  document.addEventListener("input", (event) => {
    const item = itemOf(event.target);
    if (item && open.has(item)) {
      open.get(item).text = event.target.value;
      showEditor(item); // it grows
    }
    if (event.target.matches("[name='text-new'][form='todo-edit']")) adding = event.target.value;
  });

  // Where there is little room, what is written has it (20-frame.css), until a tap elsewhere is over: it would miss
  // what moves.
  const isWriting = (place) => Boolean(place.closest?.("#todo-panel .todo-add, #todo-refused"));
  document.addEventListener("focusin", (event) => {
    if (isWriting(event.target)) event.target.closest(".dock")?.toggleAttribute("data-writing", true);
  });
  document.addEventListener("focusout", (event) => {
    const dock = event.target.closest?.(".dock[data-writing]");
    if (dock) setTimeout(() => dock.toggleAttribute("data-writing", isWriting(document.activeElement)), 300);
  });

  // A click on the words puts a field in their place.
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.(".todo button[type='button']");
    const item = button && itemOf(button);
    if (!item) return;
    if (button.matches(".todo__cancel")) return close(item);
    start(item);
    atEnd(field(item));
    showEditor(item);
  });
  // All of it where there is room, and the field in any case; also once the keyboard of a phone is there.
  const showEditor = (item) => {
    for (const place of [row(item), field(item).parentElement]) place.scrollIntoView({ block: "nearest" });
  };
  addEventListener("resize", () => {
    const edited = document.activeElement.closest(".todo[data-editing]");
    if (edited) showEditor(itemOf(edited));
  });

  // After a redraw: editors stand open again, with what was typed; the words of one whose item is gone, and not only
  // from a list that is being written, go into the line for a new one.
  const restore = () => {
    if (begun && panel()) {
      begun = false;
      keptInTab.set(`todo-panel ${panel().dataset.turn} ${panel().dataset.phase}`, "unfolded");
      panel().open = true;
      adder().focus();
    }
    if (panel()) document.getElementById("todo-begin").open = false;
    const last = adder();
    for (const [item, editor] of [...open]) {
      const { words, text } = editor;
      if (row(item)) editor.on = panel().dataset.revision;
      if (row(item) && !("editing" in row(item).dataset)) {
        panel().open ||= text !== words;
        start(item);
      } else if (!row(item) && panel()?.dataset.revision !== editor.on) {
        open.delete(item);
        if (!last) continue;
        // Or what is typed next would go into the message.
        if (held?.name === `text-${item}`) held = { name: last.name, at: 500 };
        if (text === words) continue;
        adding = [adding, text].filter(Boolean).join(" ");
        last.value = adding;
        say("gone");
      }
    }
    // Whoever adds items sees what was added last.
    if (last && document.activeElement === last) {
      const list = panel()?.querySelector(".todo-panel__list");
      if (list) list.scrollTop = list.scrollHeight;
      for (const place of [last, list?.lastElementChild]) place?.scrollIntoView({ block: "nearest" });
    }
    if (last && last !== lastLine) last.value = adding;
    lastLine = last;
    if (held && document.activeElement === document.body) hold();
  };

  // The focus goes back to where it was, or to what stands in that place now. Whoever types keeps the panel open.
  const hold = () => {
    const { item, name, at, button, value } = held;
    const input = name && document.querySelector(`:is(input, textarea)[form="todo-edit"][name="${name}"]`);
    if (input?.value && panel()) panel().open = true;
    const place = input ?? (value ? restorer(value) : row(item)?.querySelectorAll("button")[button]);
    place?.focus();
    if (input) input.setSelectionRange(at, at);
  };
  const restorer = (value) => slot().querySelector(`.todo__restore[value="${value}"]`);
  const placeOf = (place) => {
    if (place.matches(".todo__restore")) return { value: place.value };
    if (place.matches("input, textarea")) return { name: place.name, at: place.selectionStart };
    const item = itemOf(place);
    return item ? { item, button: [...row(item).querySelectorAll("button")].indexOf(place) } : null;
  };

  // What is being written outlives a look at another page, and a reload.
  const draft = () => `todo-edit ${shown.path}`;
  const keep = () => {
    const isOnItsWay = (item, text) => waiting.get(`reword ${item}`)?.body.get(`text-${item}`) === text;
    const items = [...open].filter(([item, { words, text }]) => text !== words && !isOnItsWay(item, text));
    const added = unsent();
    const text = added.trim() && added;
    for (const each of refused().querySelectorAll("label :is(input, textarea)")) each.defaultValue = each.value;
    const left = refused().innerHTML;
    keptInTab.set(draft(), (text || items.length || left) && JSON.stringify({ adding: text, items, left }));
  };
  const takeUp = () => {
    const { items = [], left = "", ...typed } = JSON.parse(keptInTab.get(draft()) ?? "{}");
    adding = typed.adding ?? "";
    if (!refused().childElementCount) refused().append(...changesIn(left));
    for (const [item, editor] of items) open.set(item, editor);
    if (adder()) adder().value = adding;
    restore();
  };

  onContent((signal) => {
    open.clear();
    skipped.clear();
    adding = "";
    adds = [];
    begun = false;
    held = lastLine = null;
    if (!slot() || !form()) return;
    lastLine = adder();
    takeUp();
    signal.addEventListener("abort", keep);
    addEventListener("pagehide", keep, { signal });
    // Unfolded at once: `toggle` comes later, and what is typed until then would be lost.
    document.querySelector("#todo-begin > summary").addEventListener("click", (event) => {
      event.preventDefault();
      if (panel()) return; // which is past, and opens
      const begin = event.target.closest("details");
      begin.open = !begin.open;
      if (begin.open) adder().focus();
    });
    new MutationObserver(restore).observe(slot(), { subtree: true, childList: true });
    new MutationObserver(restoreMarks).observe(slot(), { subtree: true, childList: true, attributeFilter: ["aria-busy", "data-waits"] });
    slot().addEventListener("focusin", (event) => (held = placeOf(event.target)));
    slot().addEventListener("keyup", (event) => {
      if (held && event.target.matches("input, textarea")) held.at = event.target.selectionStart;
    });
    document.addEventListener("pointerdown", (event) => {
      if (!slot().contains(event.target)) held = null;
    }, { signal });
  });
}
