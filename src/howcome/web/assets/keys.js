"use strict";
// j and k walk through what is listed, Enter opens, / searches, g and a letter go to a page, u takes back.
(() => {
  const items = () => [...document.querySelectorAll("main .item, main details.step > summary")];
  let waits = 0;

  const walk = (by) => {
    const all = items();
    const near = document.activeElement.closest(".item, details.step > summary");
    const at = all.indexOf(near);
    const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + by))];
    if (next) { next.focus(); next.scrollIntoView({ block: "nearest" }); }
  };

  const open = () => {
    const item = document.activeElement;
    const link = item.classList.contains("item") && (item.querySelector(".words a, .about a[href]"));
    if (link) link.click();
    return Boolean(link);
  };

  const keys = {
    j: () => walk(1),
    k: () => walk(-1),
    Enter: open,
    "/": () => document.getElementById("q").select(),
    u: () => document.querySelector(".news .undo")?.form.requestSubmit(),
    g: () => { waits = Date.now(); },
    "?": () => { const list = document.getElementById("keys"); list.open = !list.open; list.scrollIntoView(); },
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const field = event.target.closest("input, select, textarea");
    if (field) { if (event.key === "Escape") field.blur(); return; }
    if (Date.now() - waits < 1500 && /^[a-z]$/.test(event.key)) {
      const target = document.querySelector(`[data-go="${event.key}"]`);
      waits = 0;
      event.preventDefault();
      if (target) { if (target.href) location.href = target.href; else target.select(); }
      return;
    }
    const act = Object.hasOwn(keys, event.key) && keys[event.key];
    if (act && act() !== false) event.preventDefault();
  });

  // After a change the same page is shown again: it stays where it was.
  const place = "place";
  const here = location.pathname + location.search;
  document.addEventListener("submit", (event) => {
    if (event.target.method === "post") sessionStorage.setItem(place, `${scrollY} ${here}`);
  });
  const [height, left] = (sessionStorage.getItem(place) || "").split(" ");
  sessionStorage.removeItem(place);
  if (left === here) scrollTo(0, Number(height));

  // Another project: the same page of it.
  document.querySelector("[data-keep]")?.addEventListener("change", (event) => {
    const here = new URL(location.href);
    if (event.target.form.q.value !== (here.searchParams.get("q") || "")) return;
    for (const name of ["page", "at", "id"]) here.searchParams.delete(name);
    here.searchParams.set("project", event.target.value);
    if (/\/(session|memory)$/.test(here.pathname)) here.pathname = document.body.dataset.root + "/sessions";
    location.href = here.href;
  });
})();
