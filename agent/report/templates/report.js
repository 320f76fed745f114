"use strict";
// Filters, grouping, sorting, deep links, theme. The page is complete without it; state lives in the
// address after '#', so that a view can be sent to somebody: '#sev=error&when=introduced' or '#<finding id>'.
(() => {
  const root = document.documentElement;
  const $ = (id) => document.getElementById("ui-" + id);
  root.classList.add("js");

  const themes = ["auto", "light", "dark"];
  const setTheme = (name) => {
    root.dataset.theme = name;
    const button = $("theme");
    button.textContent = "Theme: " + name;
  };
  const stored = (() => {
    try { return localStorage.getItem("metax-upgrade-theme"); } catch { return null; }
  })();
  setTheme(themes.includes(stored) ? stored : "auto");
  $("theme").addEventListener("click", () => {
    const next = themes[(themes.indexOf(root.dataset.theme) + 1) % themes.length];
    setTheme(next);
    try { localStorage.setItem("metax-upgrade-theme", next); } catch { /* a file may have no storage */ }
  });

  const list = $("list");
  const all = list ? [...list.querySelectorAll("details.f")] : [];
  const causes = list ? [...list.querySelectorAll("h3 > .what")].map((node) => node.cloneNode(true)) : [];
  const rank = { error: 0, warning: 1, note: 2 };
  // The order of the document is by cause; the order by severity is worst, newest, surest, then by place.
  const compareText = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  const byPlace = (a, b) =>
    compareText(a.dataset.p, b.dataset.p) || a.dataset.l - b.dataset.l || compareText(a.id, b.id);
  const bySeverity = (a, b) =>
    rank[a.dataset.s] - rank[b.dataset.s] ||
    (a.dataset.w === "before") - (b.dataset.w === "before") ||
    a.dataset.y - b.dataset.y || byPlace(a, b);
  const orders = {
    severity: bySeverity,
    place: byPlace,
    certainty: (a, b) => a.dataset.y - b.dataset.y || bySeverity(a, b),
    check: (a, b) => compareText(a.dataset.c, b.dataset.c) || bySeverity(a, b),
  };
  const keys = {
    cause: (item) => item.dataset.g,
    file: (item) => item.dataset.p,
    check: (item) => item.dataset.c,
    none: () => "",
  };
  const fresh = () => ({
    q: "", sev: new Set(), when: "", silent: false, check: "", group: "cause", sort: "severity",
  });
  let state = fresh();
  let arranged = "cause severity";
  const haystacks = new Map();
  const haystack = (item) => {
    if (!haystacks.has(item)) haystacks.set(item, item.textContent.toLowerCase());
    return haystacks.get(item);
  };
  const matches = (item, words) =>
    (!state.sev.size || state.sev.has(item.dataset.s)) &&
    (!state.when || state.when === item.dataset.w) &&
    (!state.silent || item.dataset.z === "1") &&
    (!state.check || state.check === item.dataset.c) &&
    words.every((word) => haystack(item).includes(word));

  const summarise = (items) =>
    Object.keys(rank)
      .map((name) => [items.filter((item) => item.dataset.s === name).length, name])
      .filter(([number]) => number)
      .map(([number, name]) => `${number.toLocaleString("en")} ${name}${number === 1 ? "" : "s"}`)
      .join(", ");

  const arrange = () => {
    const wanted = `${state.group} ${state.sort}`;
    if (wanted === arranged) return;
    arranged = wanted;
    const groups = new Map();
    for (const item of [...all].sort(orders[state.sort])) {
      const key = keys[state.group](item);
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(item);
    }
    const sections = [...groups].map(([key, items]) => {
      const section = document.createElement("section");
      section.className = "g";
      const heading = document.createElement("h3");
      const what = state.group === "cause" ? causes[key].cloneNode(true) : document.createElement("span");
      if (state.group !== "cause") {
        what.className = "what";
        what.textContent = key || "All findings";
      }
      const number = document.createElement("span");
      number.className = "n";
      heading.append(what, " ", number);
      section.append(heading, ...items);
      return section;
    });
    list.replaceChildren(...sections);
  };

  const apply = () => {
    const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    arrange();
    const shown = [];
    for (const section of list.children) {
      const items = [...section.querySelectorAll("details.f")];
      const visible = items.filter((item) => {
        item.hidden = !matches(item, words);
        return !item.hidden;
      });
      section.hidden = !visible.length;
      section.querySelector("h3 > .n").textContent = summarise(visible);
      shown.push(...visible);
    }
    const filtered = shown.length !== all.length;
    const number = (value) => value.toLocaleString("en");
    $("shown").textContent =
      (filtered ? `${number(shown.length)} of ` : "") + number(all.length) + (all.length === 1 ? " finding" : " findings");
    $("none").hidden = shown.length > 0;
    $("reset").hidden = !(words.length || state.sev.size || state.when || state.silent || state.check);
    $("q").value = state.q;
    $("check").value = state.check;
    $("group").value = state.group;
    $("sort").value = state.sort;
    const press = (node, on) => node.setAttribute("aria-pressed", String(on));
    for (const node of document.querySelectorAll("[data-sev]")) press(node, state.sev.has(node.dataset.sev));
    for (const node of document.querySelectorAll("[data-when]")) press(node, state.when === node.dataset.when);
    press($("silent"), state.silent);
    $("open").textContent = shown.length && shown.every((item) => item.open) ? "Close all" : "Open all";
  };

  const save = () => {
    const query = new URLSearchParams();
    if (state.q) query.set("q", state.q);
    if (state.sev.size) query.set("sev", Object.keys(rank).filter((name) => state.sev.has(name)).join(","));
    if (state.when) query.set("when", state.when);
    if (state.silent) query.set("silent", "1");
    if (state.check) query.set("check", state.check);
    if (state.group !== "cause") query.set("group", state.group);
    if (state.sort !== "severity") query.set("sort", state.sort);
    const text = query.toString();
    history.replaceState(null, "", text ? "#" + text : location.pathname + location.search);
  };

  const reveal = (id) => {
    const target = document.getElementById(id);
    if (!target) return;
    if (target.matches("details.f")) {
      if (target.hidden) {
        state = fresh();
        apply();
      }
      target.open = true;
    }
    // Groups out of sight have estimated heights; once they are drawn the place is another, hence again.
    const show = () => target.scrollIntoView({ block: "start" });
    show();
    requestAnimationFrame(() => {
      show();
      requestAnimationFrame(() => {
        show();
        if (target.matches("details")) target.querySelector("summary").focus({ preventScroll: true });
      });
    });
  };

  const load = () => {
    const text = location.hash.slice(1);
    if (!text.includes("=")) {
      let id = text;
      try { id = decodeURIComponent(text); } catch { /* not an address of ours */ }
      if (id) reveal(id);
      return;
    }
    const query = new URLSearchParams(text);
    const oneOf = (name, allowed, otherwise) =>
      allowed.includes(query.get(name)) ? query.get(name) : otherwise;
    state = {
      q: query.get("q") || "",
      sev: new Set((query.get("sev") || "").split(",").filter((name) => name in rank)),
      when: oneOf("when", ["introduced", "before"], ""),
      silent: query.get("silent") === "1",
      check: oneOf("check", [...$("check").options].map((option) => option.value), ""),
      group: oneOf("group", Object.keys(keys), "cause"),
      sort: oneOf("sort", Object.keys(orders), "severity"),
    };
    apply();
  };

  if (list) {
    const change = (update) => {
      update();
      apply();
      save();
    };
    let timer = 0;
    $("q").addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => change(() => { state.q = $("q").value; }), 120);
    });
    $("bar").addEventListener("submit", (event) => event.preventDefault());
    $("bar").addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      const { sev, when } = button.dataset;
      if (sev) change(() => { if (!state.sev.delete(sev)) state.sev.add(sev); });
      else if (when) change(() => { state.when = state.when === when ? "" : when; });
      else if (button === $("silent")) change(() => { state.silent = !state.silent; });
      else if (button === $("reset")) {
        change(() => { state = { ...fresh(), group: state.group, sort: state.sort }; });
        $("q").focus();
      } else if (button === $("open")) {
        const open = button.textContent === "Open all";
        for (const item of all) if (!item.hidden) item.open = open;
        button.textContent = open ? "Close all" : "Open all";
      }
    });
    for (const name of ["check", "group", "sort"]) {
      $(name).addEventListener("change", () => change(() => { state[name] = $(name).value; }));
    }
    document.addEventListener("keydown", (event) => {
      const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
      if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        $("q").focus();
      } else if (event.key === "Escape" && event.target === $("q")) {
        change(() => { state.q = ""; });
      }
    });
    apply();
  }
  addEventListener("hashchange", load);
  if (location.hash) load();

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")].filter((item) => !item.hidden);
    for (const item of opened) item.open = true;
  });
  addEventListener("afterprint", () => {
    for (const item of opened) item.open = false;
  });
})();
