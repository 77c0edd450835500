// The page to read and try the interface: it reads the description, shows one operation at a time and sends
// requests to this server alone. What comes from the description or an answer is put in as text, never as markup.

const DESCRIPTION = "/openapi.json";
const METHODS = ["get", "post", "put", "patch", "delete", "head"];
/** Levels of a schema that are open at first. */
const LEVELS_OPEN = 2;
/** A schema that leads to itself without a name is followed this often. */
const STEPS_MAX = 12;
/** More choices than these are counted and not listed in a type. */
const CHOICES_MAX = 12;
/** Of an answer, this much is shown. */
const SHOWN_MAX_CHARACTERS = 500_000;
/** Of a stream, so many events are shown, the newest, and so much of each. */
const EVENTS_MAX = 500;
const EVENT_MAX_CHARACTERS = 50_000;
/** A value that is looked up may need another one; they are followed this far. */
const LOOKUPS_MAX = 4;

let description;
let operations = [];
/** Ends the request that is under way, when another operation is chosen. */
let underWay = new AbortController();
/** Ends the look-ups of the operation that is shown. */
let lookingUp = new AbortController();
const page = Object.fromEntries(
  ["version", "token", "filter", "found", "list", "main"].map((id) => [id, document.getElementById(id)]),
);

/** An element; texts among the children become text nodes, what is empty or false is left out. */
function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child || child === 0));
  return element;
}

/** Text with blank lines between paragraphs and `code` in backticks. */
function prose(text) {
  return (text ?? "").split(/\n\s*\n/).filter(Boolean).map((paragraph) => el("p", {}, coded(paragraph)));
}

function coded(text) {
  return text.split("`").map((part, index) => (index % 2 ? el("code", {}, part) : part));
}

/** What a `$ref` leads to, with the members that stand beside it; anything else as it is. */
function resolved(node, seen = []) {
  if (typeof node !== "object" || node === null || node.$ref === undefined) return node;
  const { $ref: pointer, ...own } = node;
  if (!pointer.startsWith("#/") || seen.includes(pointer)) return own;
  const names = pointer.slice(2).split("/").map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
  const target = names.reduce((at, name) => at?.[decodeURIComponent(name)], description);
  return { ...resolved(target ?? {}, [...seen, pointer]), ...own };
}

/** A schema resolved, what `allOf` lists merged into it. */
function whole(node, steps = 0) {
  const schema = resolved(node);
  if (typeof schema !== "object" || schema === null) return {};
  if (!schema.allOf || steps > STEPS_MAX) return schema;
  const { allOf, ...own } = schema;
  return [...allOf.map((part) => whole(part, steps + 1)), own].reduce((one, other) => ({
    ...one,
    ...other,
    properties: one.properties || other.properties ? { ...one.properties, ...other.properties } : undefined,
    required: [...(one.required ?? []), ...(other.required ?? [])],
  }));
}

/** The branches of `oneOf` or `anyOf`, without null. */
function variants(schema) {
  return (schema.oneOf ?? schema.anyOf ?? []).filter((variant) => whole(variant).type !== "null");
}

function isNullable(schema) {
  const branches = schema.oneOf ?? schema.anyOf ?? [];
  return [schema.type].flat().includes("null") || branches.some((variant) => whole(variant).type === "null");
}

function typeName(node, steps = 0) {
  const named = node?.$ref?.split("/").at(-1);
  const schema = whole(node);
  const or = (names) => [...new Set(isNullable(schema) ? [...names, "null"] : names)].join(" or ");
  if (named) return named;
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum?.length > CHOICES_MAX) return `one of ${schema.enum.length} values`;
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (variants(schema).length) return or(variants(schema).map((variant) => typeName(variant, steps + 1)));
  const types = [schema.type ?? (schema.properties ? "object" : "anything")].flat();
  const format = schema.format ?? schema.contentMediaType;
  return or(types.filter((type) => type !== "null" || types.length === 1).map((type) => {
    if (type === "array") return steps > STEPS_MAX ? "array" : `array of ${typeName(schema.items, steps + 1)}`;
    return format ? `${type} (${format})` : type;
  }));
}

/** The values that a schema leaves, where it names them. */
function choices(node) {
  const schema = whole(node);
  const branches = variants(schema);
  if (branches.length) return branches.length === 1 ? choices(branches[0]) : undefined;
  return schema.enum ?? (schema.type === "boolean" ? [true, false] : undefined);
}

/** Bounds, choices and defaults, for a person. */
function rules(node) {
  const schema = whole(node);
  const listed = node?.$ref && schema.type !== "boolean" && choices(node);
  const between = (low, high, unit) => {
    if (low === undefined && high === undefined) return undefined;
    if (low !== undefined && high !== undefined) return `${low}–${high}${unit}`;
    return low !== undefined ? `at least ${low}${unit}` : `at most ${high}${unit}`;
  };
  return [
    listed && `one of ${listed.join(", ")}`,
    between(schema.minimum, schema.maximum, ""),
    between(schema.minLength, schema.maxLength, " characters"),
    between(schema.minItems, schema.maxItems, " in number"),
    schema.pattern && `pattern ${schema.pattern}`,
    schema.default !== undefined && schema.default !== null && `default ${JSON.stringify(schema.default)}`,
    schema.readOnly && "only in answers",
    schema.writeOnly && "only in requests",
  ].filter(Boolean).join(" · ");
}

/** What is below a schema, as [label, schema, required]; arrays and optional values are looked through. */
function parts(node, steps = 0) {
  const schema = whole(node);
  if (steps > STEPS_MAX) return [];
  const found = Object.entries(schema.properties ?? {})
    .map(([name, member]) => [name, member, (schema.required ?? []).includes(name)]);
  if (typeof schema.additionalProperties === "object" && Object.keys(schema.additionalProperties).length) {
    found.push(["any name", schema.additionalProperties, false]);
  }
  if (schema.items) found.push(...parts(schema.items, steps + 1));
  const branches = variants(schema);
  if (branches.length === 1) found.push(...parts(branches[0], steps + 1));
  else if (branches.some((branch) => parts(branch, steps + 1).length || whole(branch).description)) {
    const label = (branch, index) => ("const" in whole(branch) ? "value" : `variant ${index + 1}`);
    found.push(...branches.map((branch, index) => [label(branch, index), branch, false]));
  }
  return found;
}

/** The names that a schema goes by, looking through arrays and optional values as `parts` does. */
function names(node, steps = 0) {
  if (steps > STEPS_MAX || typeof node !== "object" || node === null) return [];
  const schema = whole(node);
  const branches = variants(schema);
  const through = [schema.items, branches.length === 1 && branches[0]].filter(Boolean);
  return [node.$ref, ...through.flatMap((next) => names(next, steps + 1))].filter(Boolean);
}

/** What is said of members that must be there and of those that need not. */
const ASKED = { required: "required ", optional: "" };
const ANSWERED = { required: "", optional: "may be absent " };

/** A schema's members as a list that opens; a schema inside itself is named and not opened again. */
function tree(node, marks, trail = []) {
  const path = [...trail, ...names(node)];
  return el("ul", { class: "tree" }, parts(node).map(([label, member, required]) => {
    const about = whole(member).description;
    const head = [
      el("code", {}, label), " ", el("span", { class: "type" }, typeName(member)), " ",
      el("span", { class: "must" }, required ? marks.required : marks.optional),
      el("span", { class: "rules" }, rules(member)),
      about && el("span", { class: "about" }, coded(about)),
    ];
    if (!parts(member).length) return el("li", {}, head);
    if (names(member).some((name) => path.includes(name))) {
      return el("li", {}, head, el("span", { class: "quiet" }, " as above"));
    }
    return el("li", {}, unfolding(path.length < LEVELS_OPEN, head, () => tree(member, marks, [...path, label])));
  }));
}

/** A `<details>` whose inside is made when it is first opened. */
function unfolding(open, head, inside) {
  const details = el("details", {}, el("summary", {}, head));
  details.addEventListener("toggle", () => details.append(inside()), { once: true });
  details.open = open;
  return details;
}

/** A value that fits the schema; with `all`, optional members too. */
function example(node, all, trail = []) {
  const schema = whole(node);
  const path = [...trail, ...names(node)];
  if ("const" in schema) return schema.const;
  if (schema.example !== undefined) return schema.example;
  if (schema.examples?.length) return schema.examples[0];
  if (schema.default !== undefined) return schema.default;
  if (schema.enum) return schema.enum[0];
  if (trail.length > STEPS_MAX) return null;
  const inside = (next) => example(next, all, [...path, ""]);
  const isRepeated = (next) => names(next).some((name) => path.includes(name));
  const branches = variants(schema);
  const type = [schema.type].flat().find((one) => one && one !== "null");
  if (schema.properties || (type === "object" && !branches.length)) {
    const members = Object.entries(schema.properties ?? {}).filter(([name, member]) =>
      !whole(member).readOnly && ((schema.required ?? []).includes(name) || (all && !isRepeated(member))));
    const value = Object.fromEntries(members.map(([name, member]) => [name, inside(member)]));
    return branches.length ? { ...value, ...inside(branches[0]) } : value;
  }
  if (branches.length) return inside(branches[0]);
  if (type === "array") {
    const isInside = names(schema.items).some((name) => trail.includes(name));
    return (all || schema.minItems) && !isInside ? [inside(schema.items)] : [];
  }
  if (type === "integer" || type === "number") return schema.minimum ?? 1;
  if (type === "boolean") return false;
  const formats = { "date-time": "2026-01-31T12:00:00.000Z", date: "2026-01-31", uuid: crypto.randomUUID?.() };
  return type === "string" ? (formats[schema.format] ?? "text") : null;
}

/** All operations in the document's order, by tag. */
function read(document_) {
  const all = [];
  for (const [path, item] of Object.entries(document_.paths ?? {})) {
    for (const method of METHODS.filter((name) => item[name])) {
      const node = item[method];
      const listed = [...(item.parameters ?? []), ...(node.parameters ?? [])].map((parameter) => resolved(parameter));
      const parameters = new Map(listed.map((parameter) => [`${parameter.in} ${parameter.name}`, parameter]));
      const id = node.operationId ?? `${method} ${path}`;
      const isOpen = (node.security ?? document_.security ?? []).length === 0;
      const body = resolved(node.requestBody);
      const tag = node.tags?.[0] ?? "other";
      all.push({ id, method, path, tag, node, body, isOpen, parameters: [...parameters.values()] });
    }
  }
  const order = (document_.tags ?? []).map((tag) => tag.name);
  const place = (tag) => (order.includes(tag) ? order.indexOf(tag) : order.length);
  return all.sort((one, other) => place(one.tag) - place(other.tag));
}

/** A link to an operation, by its id. */
function linkTo(id) {
  return el("a", { href: `#${encodeURIComponent(id)}` }, el("code", {}, id));
}

function address({ method, path }) {
  const [, prefix, rest] = path.match(/^(\/api\/v\d+)?(.*)$/);
  return [
    el("span", { class: `method ${method}` }, method),
    el("span", { class: "path" }, prefix && el("span", { class: "prefix" }, prefix),
      rest.split(/(?=\/)/).flatMap((part) => [el("wbr"), part])),
  ];
}

function list() {
  const wanted = page.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = operations.filter(({ id, method, path, tag, node }) => {
    const text = `${id} ${method} ${path} ${tag} ${node.summary ?? ""}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
  const tags = Map.groupBy?.(shown, ({ tag }) => tag) ?? grouped(shown);
  page.list.replaceChildren(...[...tags].map(([tag, those]) => el("section", {},
    el("h2", {}, tag),
    el("ul", {}, those.map((operation) => el("li", {}, el("a", {
      href: `#${encodeURIComponent(operation.id)}`,
      title: operation.node["x-not-yet"] && "not implemented yet",
      class: operation.node["x-not-yet"] && "later",
      "aria-current": operation.id === chosenId() && "page",
    }, el("span", { class: "summary" }, coded(operation.node.summary ?? operation.id)),
    el("span", { class: "where" }, address(operation)))))))));
  const some = wanted.length ? `${shown.length} of ${operations.length}` : `${operations.length}`;
  page.found.textContent = `${some} operations`;
}

function grouped(shown) {
  const tags = new Map(shown.map(({ tag }) => [tag, []]));
  for (const operation of shown) tags.get(operation.tag).push(operation);
  return tags;
}

function chosenId() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
}

function overview() {
  const { info = {} } = description;
  const tags = (description.tags ?? []).filter(({ name }) => operations.some(({ tag }) => tag === name));
  return [
    el("h1", { tabindex: "-1" }, info.title ?? "The interface"), prose(info.description),
    el("p", {}, "Choose an operation to read what it takes and answers, and to try it on this server. ",
      "Where the server asks for a token, sign in to the console, or put one in above: it is kept until this page is left."),
    tags.length > 0 && el("ul", { class: "tree" }, tags.map((tag) => el("li", {},
      el("strong", {}, tag.name), el("span", { class: "about" }, coded(tag.description ?? ""))))),
  ];
}

function operationView(operation) {
  const { node, parameters, body } = operation;
  const role = node["x-role"];
  return [
    el("a", { class: "back", href: "#" }, "← All operations"),
    el("h1", { tabindex: "-1" }, node.summary ?? operation.id),
    el("p", { class: "address" }, address(operation)),
    el("p", { class: "quiet" }, el("code", {}, operation.id),
      role && (role === "anyone" ? " · needs no identity" : ` · needs the role ${role}`),
      node["x-scope"] && ` or the scope ${node["x-scope"]}`,
      node.deprecated && " · deprecated"),
    node["x-not-yet"] && el("p", { class: "note" }, "Not there yet: it answers 501 until it is."),
    prose(node.description),
    parameters.length > 0 && [el("h2", {}, "Parameters"), parameterList(parameters)],
    body && [el("h2", {}, "Body"), prose(body.description), content(body.content, ASKED)],
    el("h2", {}, "Try it"), tryIt(operation),
    el("h2", {}, "Answers"),
    el("div", { class: "answers" }, Object.entries(node.responses ?? {}).map(answerView)),
    node["x-error-codes"] && [
      el("h3", {}, "Codes of errors"),
      el("p", { class: "codes" }, node["x-error-codes"].flatMap((code) => [el("code", {}, code), " "])),
    ],
  ].flat(2).filter(Boolean);
}

function parameterList(parameters) {
  return el("ul", { class: "tree" }, parameters.map((parameter) => {
    const about = parameter.description ?? whole(parameter.schema).description;
    return el("li", {},
      el("code", {}, parameter.name), el("span", { class: "quiet" }, ` in ${parameter.in} `),
      el("span", { class: "type" }, typeName(parameter.schema)), " ",
      parameter.required && el("span", { class: "must" }, "required "),
      el("span", { class: "rules" }, rules(parameter.schema)),
      about && el("span", { class: "about" }, coded(about)));
  }));
}

function content(types = {}, marks) {
  return Object.entries(types).map(([type, { schema = {} }]) => {
    const about = whole(schema).description;
    const events = eventsOf(schema);
    if (events.length) {
      return el("div", {}, el("h3", {}, type), about && el("p", {}, coded(about)),
        el("h3", {}, "Events"), events.map(eventView));
    }
    return el("div", {}, el("h3", {}, type, " ", el("span", { class: "type" }, typeName(schema))),
      about && el("p", {}, coded(about)), parts(schema).length > 0 && tree(schema, marks));
  });
}

/** The events of a stream, as [name, description, schema of the data]. */
function eventsOf(schema) {
  const data = whole(schema)["x-event-schema"];
  if (!data) return [];
  const named = whole(data)["x-events"];
  if (named) return Object.entries(named).map(([name, event]) => [name, whole(event).description, event]);
  return variants(whole(data)).map((variant) => {
    const { properties = {}, description: about } = whole(variant);
    return [whole(properties.type).const ?? "message", about, variant];
  });
}

function eventView([name, about, data]) {
  const head = [el("code", {}, name), about && [" ", coded(about)]];
  return parts(data).length ? unfolding(false, head, () => tree(data, ANSWERED)) : el("p", {}, head);
}

function answerView([status, given]) {
  const answer = resolved(given);
  const head = [el("code", {}, status === "default" ? "otherwise" : status), " ", coded(answer.description ?? "")];
  const headers = Object.entries(answer.headers ?? {}).map(([name, header]) => el("li", {},
    el("code", {}, name), el("span", { class: "about" }, coded(resolved(header).description ?? ""))));
  if (!answer.content && !headers.length) return el("p", {}, head);
  const inside = () => el("div", {},
    headers.length > 0 && [el("h3", {}, "Headers"), el("ul", { class: "tree" }, headers)],
    content(answer.content, ANSWERED));
  return unfolding(status.startsWith("2"), head, inside);
}

function tryIt(operation) {
  const { method, node } = operation;
  const fields = operation.parameters.map(field);
  const body = bodyField(operation);
  const outcome = el("div", { "aria-live": "polite" });
  const send = el("button", { class: "send" }, "Send");
  const stop = el("button", { type: "button", hidden: true }, "Stop");
  const line = el("pre", {});
  const buttons = el("div", { class: "buttons" }, send, stop,
    method !== "get" && el("span", { class: "quiet" }, "This is sent to the server for real."));
  const question = el("div", { class: "buttons confirm", role: "group", "aria-label": "Confirmation", hidden: true });
  const refresh = () => { line.textContent = curl(request(operation, fields, body)); };
  const form = el("form", {
    oninput: () => { refresh(); if (!question.hidden) ask(false); },
    onsubmit: (event) => { event.preventDefault(); if (isDestroying()) ask(true); else run(); },
  }, fields.map(({ row }) => row), body?.row, buttons, question);
  const isDestroying = () => (method === "delete" || node["x-destroys"]) &&
    !fields.some(({ parameter, values }) => parameter.name === "dryRun" && values()[0] === "true");
  /** Asks before something is deleted, or takes the question back. */
  function ask(isOpen) {
    [buttons.hidden, question.hidden] = [isOpen, !isOpen];
    if (!isOpen) return;
    const { pathname, search } = new URL(request(operation, fields, body).url);
    const line = `${method.toUpperCase()} ${pathname}${search}`;
    const answered = (then) => () => { ask(false); send.focus(); then?.(); };
    const cancel = el("button", { type: "button", onclick: answered() }, "Cancel");
    question.replaceChildren(
      el("span", {}, "This deletes for real. Send ", el("code", {}, line), "?"),
      el("button", { type: "button", class: "destroy", onclick: answered(run) }, "Delete"), cancel);
    question.onkeydown = (event) => { if (event.key === "Escape") cancel.click(); };
    cancel.focus();
  }
  async function run() {
    refresh();
    underWay = new AbortController();
    stop.onclick = () => underWay.abort();
    stop.hidden = false;
    if (document.activeElement === send) stop.focus();
    send.disabled = true;
    await exchange(request(operation, fields, body), underWay.signal, outcome);
    send.disabled = false;
    if (document.activeElement === stop) send.focus();
    stop.hidden = true;
  }
  page.token.oninput = refresh;
  page.token.onchange = () => lookUpAll(fields, body, refresh);
  refresh();
  lookUpAll(fields, body, refresh);
  const before = node["x-example-after"] ?? [];
  return [
    before.length > 0 && el("p", {}, "Send first: ", before.map((id, index) => [index > 0 && ", ", linkTo(id)]), "."),
    node["x-example-note"] && el("p", { class: "note" }, coded(node["x-example-note"])),
    form, outcome, el("h3", {}, "The same with curl"), withCopy(line),
  ];
}

/** A labelled input for a parameter; an empty one is not sent. */
function field(parameter, index) {
  const schema = whole(parameter.schema);
  const id = `parameter-${index}`;
  const lookup = parameter["x-example-from"];
  const first = lookup ? "" : [parameter.example ?? schema.example ?? ""].flat().join(",");
  const listed = choices(parameter.schema);
  const isList = [schema.type].flat().includes("array");
  const described = lookup && `${id}-hint`;
  const input = listed
    ? el("select", { id }, el("option", { value: "" }, ""),
      listed.map((value) => el("option", { selected: String(value) === first }, String(value))))
    : el("input", {
      id, autocomplete: "off", spellcheck: "false", required: parameter.required, value: first || undefined,
      "aria-describedby": described,
      placeholder: lookup ? `looked up with ${lookup.operationId}`
        : isList ? "several: commas between them" : schema.default?.toString(),
    });
  const hint = lookup && el("span", { id: described, class: "hint", role: "status" });
  const values = () => (isList ? input.value.split(",") : [input.value]).filter((value) => value !== "");
  const fill = (value) => { input.value = String(value); };
  const row = el("div", { class: "field" }, el("label", { for: id }, el("code", {}, parameter.name)), input, hint);
  return { parameter, values, row, lookup, hint, fill };
}

/** A text area for JSON, a file for anything else. */
function bodyField({ body }) {
  const types = Object.entries(body?.content ?? {});
  if (!types.length) return undefined;
  const [type, { schema = {}, example: given, "x-example-from": lookups }] =
    types.find(([name]) => name.includes("json")) ?? types[0];
  const label = el("label", { for: "body" }, `Body, ${type}`);
  if (!type.includes("json")) {
    const file = el("input", { id: "body", type: "file" });
    const sent = type.includes("*") ? "application/octet-stream" : type;
    return { type: sent, file: () => file.files[0], row: el("div", { class: "field" }, label, file) };
  }
  const area = el("textarea", { id: "body", spellcheck: "false" });
  const shown = structuredClone(given);
  const show = (value) => { area.value = JSON.stringify(value, null, 2); };
  const fill = (value) => {
    show(value);
    area.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const hasRequired = (whole(schema).required ?? []).length > 0;
  show(shown ?? example(schema, !hasRequired));
  let untouched = area.value;
  const hint = lookups && el("span", { class: "hint", role: "status" });
  const button = (text, value) => el("button", { type: "button", onclick: () => fill(value()) }, text);
  const row = el("div", {}, label, area, hint, el("div", { class: "buttons" },
    given !== undefined && button("Example", () => shown),
    button("Required members", () => example(schema, false)), button("All members", () => example(schema, true))));
  /** Puts what was looked up into the example, by its places there; null where nothing was found. */
  const put = (values) => {
    const isUntouched = area.value === untouched;
    for (const [place, value] of values) {
      const names = place.split("/").slice(1);
      const inner = names.slice(0, -1).reduce((at, name) => at?.[name], shown);
      if (inner) inner[names.at(-1)] = value ?? null;
    }
    if (!isUntouched) return;
    show(shown);
    untouched = area.value;
  };
  return { type, text: () => area.value, row, lookups, hint, put };
}

/** Fills in what the examples take from answers of the server, one after the other: one may need another. */
async function lookUpAll(fields, body, refresh) {
  const { signal } = lookingUp;
  const given = (name) => fields.find(({ parameter }) => parameter.name === name)?.values()[0];
  for (const { lookup, hint, fill, values } of fields.filter((one) => one.lookup)) {
    const look = async () => {
      const value = await lookedUp(lookup, given, signal);
      if (signal.aborted) return;
      if (value !== undefined && !values().length) fill(value);
      hint.replaceChildren(...(value === undefined ? missing(lookup, look) : []));
      refresh();
    };
    await look();
  }
  if (!body?.lookups) return;
  const look = async () => {
    const values = [];
    const lost = [];
    for (const [place, lookup] of Object.entries(body.lookups)) {
      const value = await lookedUp(lookup, given, signal);
      values.push([place, value]);
      if (value === undefined) lost.push(`${place.slice(1)}: `, ...missing(lookup, look));
    }
    if (signal.aborted) return;
    body.put(values);
    body.hint.replaceChildren(...lost);
    refresh();
  };
  await look();
}

/** Says which operation makes what was not found. */
function missing({ operationId, madeBy }, again) {
  return [
    "Not found with ", linkTo(operationId), ...(madeBy ? ["; ", linkTo(madeBy), " makes one"] : []), ". ",
    el("button", { type: "button", onclick: again }, "Look again"), " ",
  ];
}

/** The value that an example takes from the answer of another operation, which changes nothing. */
async function lookedUp(lookup, given, signal, steps = 0) {
  const operation = operations.find(({ id }) => id === lookup.operationId);
  const changes = operation?.method !== "get" &&
    (operation?.method !== "post" || operation.parameters.some(({ name }) => name === "Idempotency-Key"));
  if (!operation || changes || steps > LOOKUPS_MAX) return undefined;
  const fields = [];
  for (const parameter of operation.parameters) {
    const wanted = lookup.parameters?.[parameter.name] ?? (parameter.in === "path" ? given(parameter.name) : undefined);
    const value = wanted?.operationId ? await lookedUp(wanted, given, signal, steps + 1) : wanted;
    if (value === undefined && parameter.required) return undefined;
    fields.push({ parameter, values: () => (value === undefined ? [] : [String(value)]) });
  }
  const [type, { example: text } = {}] = Object.entries(operation.body?.content ?? {})[0] ?? [];
  const body = type && { type, text: () => JSON.stringify(text ?? {}) };
  try {
    const answer = await sent(request(operation, fields, body), signal);
    if (!answer.ok) return undefined;
    const isStream = answer.headers.get("Content-Type")?.startsWith("text/event-stream");
    return pointed(isStream ? await allEvents(answer) : await answer.json(), lookup.pointer);
  } catch {
    return undefined;
  }
}

/** What a JSON pointer leads to; `name=value` is the first item whose member has this value. */
function pointed(value, pointer) {
  const steps = pointer.split("/").slice(1);
  const step = (at, name) => {
    const [member, wanted] = name.split(/=(.*)/);
    if (wanted === undefined || !Array.isArray(at)) return at?.[name];
    return at.find((item) => String(item?.[member]) === wanted);
  };
  return steps.reduce(step, value) ?? undefined;
}

/** The data of a stream's events, once it has ended. */
async function allEvents(answer) {
  const all = [];
  for await (const { data } of eventsIn(answer)) all.push(JSON.parse(data));
  return all;
}

function request(operation, fields, body) {
  const query = new URLSearchParams();
  const headers = {};
  let path = operation.path;
  for (const { parameter, values } of fields) {
    const { name, in: place } = parameter;
    const given = values();
    if (place === "path") path = path.replace(`{${name}}`, given.length ? encodeURIComponent(given[0]) : `{${name}}`);
    if (place === "query" && parameter.explode === false && given.length) query.append(name, given.join(","));
    else if (place === "query") given.forEach((value) => query.append(name, value));
    if (place === "header" && given.length) headers[name] = given.join(",");
  }
  const file = body?.file?.();
  const text = body?.text?.().trim();
  if (file || text) headers["Content-Type"] = body.type;
  const token = operation.isOpen ? "" : page.token.value.trim();
  const url = location.origin + path + (query.size || query.toString() ? `?${query}` : "");
  const streams = Object.values(operation.node.responses ?? {})
    .some((answer) => resolved(answer).content?.["text/event-stream"]);
  return { method: operation.method.toUpperCase(), url, headers, token, file, text, streams };
}

/** The same request for a shell; the token stands in a variable, so that it is neither shown nor kept there. */
function curl({ method, url, headers, token, file, text, streams }) {
  const quoted = (word) => `'${word.replaceAll("'", "'\\''")}'`;
  const how = { GET: "", HEAD: " --head" }[method] ?? ` -X ${method}`;
  return [
    `curl${streams ? " -N" : ""}${how} ${quoted(url)}`,
    token && `-H "Authorization: Bearer $LAKEPORT_TOKEN"`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    file && `--data-binary ${quoted(`@${file.name}`)}`,
    text && `--data-raw ${quoted(text)}`,
  ].filter(Boolean).join(" \\\n  ");
}

/** Sends a request to this server. */
function sent({ method, url, headers, token, file, text }, signal) {
  // Without a token, the session of the console counts, whose changes need its header.
  const authorization = token ? { Authorization: `Bearer ${token}` } : { "X-Lakeport-Console": "1" };
  return fetch(url, {
    method, signal, headers: { ...headers, ...authorization }, body: file ?? (text || undefined),
    credentials: "same-origin", cache: "no-store",
  });
}

async function exchange(asked, signal, outcome) {
  const started = performance.now();
  const took = () => `${Math.round(performance.now() - started)} ms`;
  const status = el("p", { class: "outcome" }, "Sent, waiting for the answer …");
  outcome.replaceChildren(status);
  try {
    const answer = await sent(asked, signal);
    const line = `${answer.status} ${answer.statusText}`.trim();
    status.textContent = `${line} · ${took()}`;
    status.classList.toggle("error", !answer.ok);
    const lines = [...answer.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
    outcome.append(el("details", {}, el("summary", {}, "Headers"), el("pre", {}, lines)));
    const type = answer.headers.get("Content-Type") ?? "";
    if (type.startsWith("text/event-stream")) await streamed(answer, outcome);
    else outcome.append(...await shown(answer, type));
    status.textContent = `${line} · ${took()}`;
  } catch (error) {
    const why = signal.aborted ? "Stopped" : `No answer: ${error.message}`;
    status.textContent = `${why} · ${took()}`;
  }
}

/** A stream's events as they come, one row each; a row opens to its data laid out. */
async function streamed(answer, outcome) {
  const rows = el("ol", { class: "events", tabindex: "0", "aria-label": "Events", "aria-live": "off" });
  outcome.append(rows);
  for await (const { id, name, data } of eventsIn(answer)) {
    const atEnd = rows.scrollTop + rows.clientHeight >= rows.scrollHeight - 40;
    const text = laidOut(data, "json").slice(0, EVENT_MAX_CHARACTERS);
    rows.append(el("li", {}, unfolding(false, [
      el("span", { class: "number" }, id), el("code", {}, name), el("span", { class: "data" }, data.slice(0, 300)),
    ], () => el("pre", {}, text))));
    if (rows.childElementCount > EVENTS_MAX) rows.firstElementChild.remove();
    if (atEnd) rows.scrollTop = rows.scrollHeight;
  }
}

/** The server-sent events of an answer. */
async function* eventsIn(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    const blocks = (text + next.value).split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const lines = block.split("\n").map((line) => line.match(/^([a-z]+): ?(.*)$/)).filter(Boolean);
      const all = (wanted) => lines.filter(([, key]) => key === wanted).map(([, , value]) => value);
      const [id = "", name = "message"] = [all("id").at(-1), all("event").at(-1)];
      if (lines.length) yield { id, name, data: all("data").join("\n") };
    }
  }
}

/** A body: JSON laid out, other text as it is, anything else to be saved. */
async function shown(answer, type) {
  const blob = await answer.blob();
  if (!blob.size) return [el("p", { class: "quiet" }, "No body.")];
  const isText = /json|^text\/|xml|openmetrics/.test(type);
  const text = isText ? laidOut(await blob.text(), type) : "";
  const cut = text.length > SHOWN_MAX_CHARACTERS;
  const save = (!isText || cut) && el("p", {}, `${blob.size} bytes, ${type || "of no type"}${cut ? ", cut here" : ""}. `,
    el("a", { href: URL.createObjectURL(blob), download: "answer" }, "Save"));
  const pre = isText && withCopy(el("pre", { tabindex: "0", "aria-label": "Body", "aria-live": "off" },
    text.slice(0, SHOWN_MAX_CHARACTERS)));
  return [save, pre].filter(Boolean);
}

function laidOut(text, type) {
  if (!type.includes("json")) return text;
  try {
    const value = JSON.parse(text);
    // A number that this page cannot hold exactly would be shown wrong: the text is better then.
    return /\d{16}/.test(text) ? text : JSON.stringify(value, null, 2);
  } catch {
    return text;
  }
}

/** A text with a button that copies it; where the browser does not let it, the text is selected. */
function withCopy(pre) {
  const button = el("button", { type: "button" }, "Copy");
  button.onclick = async () => {
    try {
      await navigator.clipboard.writeText(pre.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(pre);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2_000);
  };
  return el("div", { class: "block" }, pre, button);
}

function show() {
  underWay.abort();
  lookingUp.abort();
  lookingUp = new AbortController();
  const id = chosenId();
  const operation = operations.find((one) => one.id === id);
  const missing = id && !operation && el("p", { class: "note" }, `There is no operation ${id}.`);
  document.body.classList.toggle("chosen", Boolean(operation));
  document.title = operation ? `${operation.node.summary ?? id} – Lakeport` : "Lakeport: the interface";
  page.main.replaceChildren(...[missing, operation ? operationView(operation) : overview()].flat(2).filter(Boolean));
  list();
}

async function load() {
  const token = page.token.value.trim();
  try {
    const answer = await fetch(DESCRIPTION, { headers: token ? { Authorization: `Bearer ${token}` } : {} });
    if (!answer.ok) throw new Error(`it answers ${answer.status}`);
    description = await answer.json();
  } catch (error) {
    page.main.replaceChildren(
      el("p", { class: "error" }, `The description of the interface cannot be read: ${error.message}.`),
      el("p", {}, "If the server asks for a token, put it in above. ", el("button", { onclick: load }, "Read again")));
    return;
  }
  operations = read(description);
  page.version.textContent = description.info?.version ?? "";
  show();
}

page.filter.addEventListener("input", list);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  page.main.focus();
});
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input, textarea, select");
  if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    page.filter.focus();
  }
});
window.addEventListener("hashchange", () => {
  if (!description) return;
  show();
  window.scrollTo(0, 0);
  page.main.querySelector("h1")?.focus({ preventScroll: true });
});
load();
