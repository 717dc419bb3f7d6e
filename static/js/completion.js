// Completes what is begun in the composer: "/" in an empty one a command, "@" a file, "#" an item of the plan. The list
// opens as the sign is typed at the start of a word, not when it is pasted, and stays while the word grows.
{
  const field = () => document.getElementById("composer-text");
  const list = () => document.getElementById("completion");
  const isOpen = () => list()?.hasAttribute("data-sign");

  // The word that ends at the caret: its sign, what is typed behind it, and where it begins. Chinese has no spaces
  // ahead of it, and an input method types "、" for "/", and "＠" and "＃".
  const PLAIN = { "、": "/", "／": "/", "＠": "@", "＃": "#" };
  const COMMAND = /^([/、／])(\S*)$/;
  const NAME = /(?:^|[\s\p{Script=Han}\u3000-\u303f\uff00-\uffef])([@#＠＃])(\S*)$/u;
  const word = () => {
    const { value, selectionStart, selectionEnd } = field();
    const before = value.slice(0, selectionStart);
    const [, sign, typed] = (value === before && before.match(COMMAND)) || before.match(NAME) || [];
    return sign && selectionStart === selectionEnd ? { sign, typed, start: before.length - typed.length - 1 } : null;
  };

  const close = () => {
    if (!isOpen()) return;
    const { dataset } = list();
    delete dataset.sign;
    delete dataset.enter;
    list().hidePopover();
    list().removeAttribute("aria-busy");
    for (const name of ["aria-controls", "aria-activedescendant"]) field()?.removeAttribute(name);
  };
  const ask = ({ sign, typed }) => {
    sign = PLAIN[sign] ?? sign;
    const said = sign + typed;
    if (list().dataset.sign === said) return;
    list().dataset.sign = said;
    list().setAttribute("aria-busy", true);
    list().setAttribute("hx-vals", JSON.stringify({ sign, q: typed }));
    list().dispatchEvent(new Event("complete"));
  };
  const begin = ({ data }) => {
    const begun = word();
    if (begun && !begun.typed && data === begun.sign) ask(begun);
  };
  const update = () => {
    const begun = document.activeElement === field() && word();
    if (begun) ask(begun);
    else close();
  };

  document.addEventListener("input", (event) => {
    if (event.target.id !== "composer-text" || event.isComposing || !list()) return;
    if (isOpen()) return update();
    if (event.inputType === "insertText") begin(event);
  });
  document.addEventListener("compositionend", (event) => {
    if (event.target.id !== "composer-text" || !list()) return;
    if (isOpen()) update();
    else begin(event);
  });
  document.addEventListener("selectionchange", () => isOpen() && update());
  document.addEventListener("focusout", (event) => event.target.id === "composer-text" && close());
  document.addEventListener("submit", (event) => event.target.id === "composer" && close());

  // A command that is sent is done, ahead of what would refuse it.
  addEventListener(
    "submit",
    (event) => {
      if (event.target.id !== "composer" || event.submitter?.name === "text" || !list()) return;
      const { value, dataset } = field();
      const [, , name] = value.trim().match(COMMAND) ?? [];
      if (!dataset.commands.split(" ").includes(name) || list().dataset.sign === `/${name}`) return;
      event.preventDefault();
      event.stopPropagation();
      field().value = `/${name}`;
      field().focus();
      list().dataset.enter = "";
      ask({ sign: "/", typed: name });
    },
    true,
  );

  document.addEventListener("htmx:after:swap", (event) => {
    if (event.detail.ctx.target !== list() || !isOpen() || listIsBusy(list(), list().dataset.sign)) return;
    if (!list().querySelector("[role=option]")) {
      const sends = "enter" in list().dataset;
      list().hidePopover();
      field().removeAttribute("aria-controls");
      if (sends) field().form.requestSubmit();
      return;
    }
    field().setAttribute("aria-controls", "completion");
    list().showPopover();
    choose(list());
  });

  // Ahead of the composer, which sends on Enter.
  addEventListener(
    "keydown",
    (event) => {
      if (event.target.id !== "composer-text" || !isOpen() || isComposing(event)) return;
      const waits = event.key === "Enter" && !event.shiftKey && list().hasAttribute("aria-busy");
      if (waits) list().dataset.enter = "";
      else if (event.key === "Escape" && list().matches(":popover-open")) close();
      else return;
      event.preventDefault();
      event.stopPropagation();
    },
    true,
  );

  document.addEventListener(
    "click",
    (event) => {
      const option = event.target.closest?.("#completion [role=option]");
      if (!option) return;
      const { start } = word();
      const { insert = "" } = option.dataset;
      close();
      field().setSelectionRange(start, field().selectionEnd);
      // By way of the browser, which can undo it.
      if (insert) document.execCommand("insertText", false, `${insert} `);
      else document.execCommand("delete");
    },
    true,
  );
}
