/** Texts that others wrote stay texts, wherever they are shown. The policy is held against by `watched`. */
import { type APIRequestContext, type Page } from "@playwright/test";
import { expect, id, settled, test } from "./support";

const HOSTILE = `<img src=x onerror="window.taken=1"><script>window.taken=1</script>{{7*7}} javascript:window.taken=1`;

test("a table's comment, a topic's title and a workflow's name stay texts", async ({ page, request }) => {
  const headers = { "Content-Type": "application/json" };
  const tables = await (await request.get("/api/v1/tables?pageSize=1")).json();
  const table = tables.data.records[0];
  const put = await request.put(`/api/v1/tables/${table.id}`, { headers, data: { description: HOSTILE } });
  expect(put.ok(), await put.text()).toBe(true);
  const workflow = await (await request.post("/api/v1/workflows", { headers, data: { name: HOSTILE.slice(0, 100) } })).json();
  const topic = await (await request.post("/api/v1/nl2sql/topics", { headers, data: { title: HOSTILE } })).json();
  const shown = [
    [`/tables/${table.id}`, HOSTILE], ["/workflows", HOSTILE.slice(0, 60)], [`/workflows/${workflow.data.id}`, HOSTILE.slice(0, 60)],
    [`/ask/${topic.topic_id}`, HOSTILE.slice(0, 60)], [`/lineage?table=${table.id}`, ""], ["/audit", ""],
  ] as const;
  for (const [path, text] of shown) {
    await page.goto(path);
    await settled(page);
    if (text) await expect(page.getByText(text, { exact: false }).first()).toBeVisible();
    await inert(page, path);
  }
});

/** Nothing of it was run, loaded or made into an element. */
async function inert(page: Page, where: string) {
  expect(await page.evaluate(() => "taken" in window), where).toBe(false);
  expect(await page.locator("main img[src=x], main script, main a[href^='javascript:']").count(), where).toBe(0);
}

async function sent(request: APIRequestContext, path: string, data: object) {
  const answer = await request.post(`/api/v1/${path}`, { data });
  expect(answer.ok(), await answer.text()).toBe(true);
  return (await answer.json()).data;
}

test("a run's error and the lines of its log stay texts", async ({ page, request }) => {
  const workflow = await sent(request, "workflows", { name: "hostile log" });
  const mark = "<img src=x onerror=window.taken=1>";
  await sent(request, "tasks", {
    task: {
      workflowId: workflow.id, taskName: mark, taskType: "SQL", datasourceId: await id(request, "datasources", "name", "lakeside"),
      sqlContent: `SELECT * FROM "${mark}"`,
    },
  });
  const record = await sent(request, `workflows/${workflow.id}/publish`, {});
  await sent(request, `workflows/${workflow.id}/publish/${record.recordId}/approve`, { status: "APPROVED" });
  const run = await sent(request, `workflows/${workflow.id}/execute`, {});
  await page.goto(`/workflows/${workflow.id}/runs/${run}`);
  await page.getByRole("button", { name: mark, exact: true }).click();
  const log = page.getByRole("log");
  await expect(log).toContainText(`no such table: ${mark}`);
  await inert(page, "log");
  await page.goto("/runs?tab=failed");
  await expect(page.getByText(mark).first()).toBeVisible();
  await inert(page, "list of failures");
});

/** Answers come with this specification instead of their charts' own. */
async function answered(page: Page, spec: object) {
  await page.route("**/api/v1/nl2sql/topics/*/messages*", async (route) => {
    const response = await route.fetch({ maxRetries: 3 });
    const answer = await response.json();
    for (const message of answer.items) {
      for (const artifact of message.artifacts) if (artifact.kind === "chart") artifact.spec = spec;
    }
    await route.fulfill({ response, json: answer });
  });
}

test("a hostile chart draws its marks and does nothing else", async ({ page }) => {
  const elsewhere = "http://elsewhere.example";
  const rows = [1, 2, 3].map((value) => ({
    value, name: `${HOSTILE} ${value}`, picture: `${elsewhere}/row.png`, link: "javascript:window.taken=1", paint: `url(${elsewhere}/paint.svg#p)`,
  }));
  const places = { x: { field: "name", type: "nominal" }, y: { field: "value", type: "quantitative" }, href: { field: "link" } };
  const spec = {
    $schema: `${elsewhere}/schema.json`,
    usermeta: { embedOptions: { loader: { target: "_top" }, actions: true, patch: `${elsewhere}/patch.json`, config: `${elsewhere}/config.json`, ast: false } },
    config: { background: `url(${elsewhere}/ground.png)`, customFormatTypes: true },
    background: `url(${elsewhere}/ground2.png)`,
    data: { values: rows },
    params: [
      { name: "cursor", value: `url(${elsewhere}/cursor.png), auto` },
      { name: "typed", value: 1, bind: { input: "text", element: "body" } },
    ],
    transform: [
      { calculate: "[].constructor.constructor('window.taken = 1')()", as: "a" },
      { calculate: "datum.constructor.constructor('window.taken = 1')()", as: "b" },
      { lookup: "name", from: { data: { url: `${elsewhere}/other.json` }, key: "name", fields: ["value"] } },
    ],
    layer: [
      {
        mark: { type: "bar", href: "javascript:window.taken=1", cursor: "pointer", tooltip: { content: "data" }, fill: `url(${elsewhere}/fill.svg#f)` },
        encoding: {
          ...places, fill: { field: "paint", type: "nominal", scale: null },
        },
      },
      { mark: { type: "image", url: `${elsewhere}/mark.png` }, encoding: { x: { field: "name" }, y: { field: "value", type: "quantitative" }, url: { field: "picture" } } },
      { data: { url: `${elsewhere}/layer.csv` }, mark: "point", encoding: { y: { field: "value", type: "quantitative" } } },
      { mark: { type: "text" }, encoding: { text: { value: HOSTILE }, y: { datum: 2 } } },
    ],
  };
  const bar = { mark: { type: "bar", href: "javascript:window.taken=1", tooltip: { content: "data" } }, data: { values: rows }, encoding: places };
  for (const [kind, hostile] of [["with everything", spec], ["that draws", bar]] as const) {
    await answered(page, hostile);
    await page.goto("/ask");
    await page.getByLabel("Question").fill("Top 5 products by sales amount");
    await page.keyboard.press("Enter");
    await expect(page.getByRole("tab", { name: "Chart" })).toBeVisible();
    await page.reload();
    const chart = page.getByRole("figure", { name: /^Chart/ });
    // It is drawn, or says why it is not.
    await expect(chart.locator("svg.marks").or(chart.getByText("The chart could not be drawn", { exact: false })).first()).toBeVisible();
    if (hostile === bar) {
      const mark = chart.locator("svg.marks .mark-rect path").first();
      await expect(mark).toBeVisible();
      await mark.hover();
      await mark.click();
    }
    await inert(page, kind);
    expect(await chart.locator("a, image, script, foreignObject").count(), kind).toBe(0);
    expect(await chart.locator("[fill*=elsewhere], [stroke*=elsewhere], [style*=elsewhere]").count(), kind).toBe(0);
    await expect(page).toHaveURL(/\/ask\//);
    await page.unrouteAll({ behavior: "wait" });
  }
});

test("SQL under review reads as what runs", async ({ page, request }) => {
  const name = "report \u202egnp.elif efas";
  const workflow = await sent(request, "workflows", { name });
  await sent(request, "tasks", {
    task: {
      workflowId: workflow.id, taskName: "clear", taskType: "SQL", datasourceId: await id(request, "datasources", "name", "lakeside"),
      sqlContent: "DELETE FROM old_orders /*\u202e \u2066WHERE day < '2020-01-01'\u2069 \u2066 only old rows */\u200b",
    },
  });
  const shown = "/*U+202E U+2066WHERE day < '2020-01-01'U+2069 U+2066 only old rows */U+200B";
  await sent(request, `workflows/${workflow.id}/publish`, {});
  await page.goto(`/workflows/${workflow.id}?tab=publication`);
  const cell = page.locator("td code", { hasText: "DELETE FROM old_orders" });
  await expect(cell).toContainText(shown);
  await page.getByRole("button", { name: "As a diff" }).click();
  const line = page.locator("pre.code span", { hasText: "DELETE FROM old_orders" }).first();
  await expect(line).toContainText(shown);
  // The comment stands where it runs: in the line, its end is to the right of the condition.
  const places = await line.locator(".unseen").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().left));
  expect(places).toHaveLength(5);
  expect(places).toEqual([...places].sort((one, other) => one - other));
  await page.goto(`/workflows/${workflow.id}`);
  await expect(page.locator("h1")).toHaveText("report U+202Egnp.elif efas");
  await page.getByText("clear", { exact: true }).first().click();
  await expect(page.locator(".cm-content").first()).toContainText(shown);
  await page.goto("/workflows");
  await expect(page.getByRole("link", { name: "report U+202Egnp.elif efas" })).toBeVisible();
  await page.goto(`/workflows/${workflow.id}`);
  await page.getByRole("button", { name: /^Actions.*report \[U\+202E\]gnp/ }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await expect(page.getByRole("dialog")).toContainText("report [U+202E]gnp.elif efas");
});

/** Asks, and runs another statement on the answer's SQL. */
async function run(page: Page, sql: string) {
  await page.goto("/ask");
  await page.getByLabel("Question").fill("Top 5 products by sales amount");
  await page.keyboard.press("Enter");
  await page.getByRole("tab", { name: "SQL" }).click();
  await page.locator(".cm-content").fill(sql);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  return page.getByRole("region", { name: "Rows of the changed SQL" });
}

test("whole numbers of any size stay exact, on the page and in the file", async ({ page }) => {
  const rows = await run(page, "SELECT 9007199254740993 AS id, 1 AS n UNION ALL SELECT 9223372036854775807, 2 UNION ALL SELECT 9007199254740992, 3");
  await expect(rows.getByRole("cell")).toHaveText(["9007199254740993", "1", "9223372036854775807", "2", "9007199254740992", "3"]);
  await expect(rows.getByRole("cell").first()).toHaveClass("number");
  const saved = page.waitForEvent("download");
  await rows.getByRole("button", { name: "Download CSV" }).click();
  const file = await (await (await saved).createReadStream()).toArray();
  expect(Buffer.concat(file).toString()).toContain("9007199254740993,1\r\n9223372036854775807,2\r\n");
  await rows.getByRole("button", { name: "Sort by id" }).click();
  await expect(rows.getByRole("cell")).toHaveText(["9007199254740992", "3", "9007199254740993", "1", "9223372036854775807", "2"]);
});

test("a value of a million letters is cut, and opens in a box", async ({ page }) => {
  const rows = await run(page, "SELECT printf('%.*c', 1000000, 'x') AS m");
  await expect(rows.getByText(/^x{200}…$/)).toBeVisible();
  const height = () => rows.evaluate((element) => element.scrollHeight);
  expect(await height()).toBeLessThan(600);
  await rows.getByText(/^x{200}…$/).click();
  await expect(rows.locator(".code")).toHaveText("x".repeat(1_000_000));
  expect(await height()).toBeLessThan(900);
});

test("a chart makes no fields, runs no program and is bounded", async ({ page }) => {
  const rows = [{ name: `${"a".repeat(40)}!`, value: 1 }, { name: "b", value: 2 }];
  const bar = {
    mark: "bar", data: { values: rows },
    encoding: { x: { field: "name", type: "nominal" }, y: { field: "value", type: "quantitative" } },
  };
  const slow = "test(regexp('^(a+)+$'), datum.name)";
  const specs: readonly (readonly [string, object, boolean])[] = [
    ["fields", { ...bar, params: [{ name: "a", bind: { input: "image", src: "/taken.png" } }, { name: "b", bind: { input: "password" } }] }, true],
    ["expressions of looks", { ...bar, mark: { type: "bar", opacity: { expr: slow }, fill: { expr: slow } } }, true],
    ["sizes", { ...bar, width: 1e7, height: 1e7, mark: { type: "bar", size: 1e7, dx: 1e9 }, padding: 1e7 }, true],
    ["steps", { ...bar, encoding: { ...bar.encoding, row: { field: "name" } }, height: { step: 1e7 } }, true],
    ["a program", { ...bar, transform: [{ filter: slow }] }, false],
    ["texts that grow", { ...bar, transform: [{ calculate: "datum.name + datum.name", as: "name" }] }, false],
    ["rows that are made", { ...bar, data: { sequence: { start: 0, stop: 4e6 } } }, false],
    ["many rows", { ...bar, data: { values: Array.from({ length: 6_000 }, (_, value) => ({ name: "a", value })) } }, false],
    ["many views", { hconcat: Array.from({ length: 60 }, () => bar) }, false],
    ["many small views", {
      ...bar, data: { values: Array.from({ length: 100 }, (_, value) => ({ name: `n${value}`, value })) },
      encoding: { ...bar.encoding, row: { field: "name" } },
    }, false],
  ];
  await page.goto("/ask");
  await page.getByLabel("Question").fill("Top 5 products by sales amount");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("tab", { name: "Chart" })).toBeVisible();
  const chart = page.getByRole("figure", { name: /^Chart/ });
  for (const [kind, spec, isDrawn] of specs) {
    await answered(page, spec);
    await page.reload();
    if (isDrawn) await expect(chart.locator("svg.marks"), kind).toBeVisible();
    else {
      await expect(chart.getByText("The chart could not be drawn", { exact: false }), kind).toBeVisible();
      await expect(chart.getByRole("table"), kind).toBeVisible();
    }
    expect(await chart.locator("input, select, textarea, form *, image, img").count(), kind).toBe(0);
    const { width, height } = (await chart.boundingBox())!;
    expect(Math.max(width, height), kind).toBeLessThan(1_600);
    await page.unrouteAll({ behavior: "wait" });
  }
});

test("names of an object's own parts in the address are values like others", async ({ page }) => {
  for (const filter of ["resource", "operation", "outcome"]) {
    for (const name of ["constructor", "__proto__", "hasOwnProperty"]) {
      await page.goto(`/audit?${filter}=${name}`);
      await settled(page);
      await expect(page.locator("main").getByText(name).first()).toBeVisible();
    }
  }
});

test("a part of the address that leads elsewhere is not asked for", async ({ page, request }) => {
  const workflow = await sent(request, "workflows", { name: "dots" });
  const asked: string[] = [];
  page.on("request", (one) => asked.push(new URL(one.url()).pathname));
  for (const part of ["..", "."]) {
    await page.goto(`/workflows/${workflow.id}?tab=backfill&backfill=${part}`);
    await expect(page.getByText("There is nothing by this name.").first()).toBeVisible();
  }
  expect(asked).toContain(`/api/v1/workflows/${workflow.id}`);
  expect(asked.filter((path) => /^\/api\/v1\/(backfills\/)?$/.test(path))).toEqual([]);
});

test("long texts do not push a page sideways", async ({ page, request }) => {
  const long = "w".repeat(200);
  const tables = await (await request.get("/api/v1/tables?pageSize=1")).json();
  const { id: table } = tables.data.records[0];
  const put = await request.put(`/api/v1/tables/${table}`, { data: { owner: long, layer: long } });
  expect(put.ok(), await put.text()).toBe(true);
  const fits = async (where: string) =>
    expect(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), where).toBeLessThanOrEqual(0);
  for (const tab of ["fields", "ddl", "size", "access", "lineage", "changes"]) {
    await page.goto(`/tables/${table}?tab=${tab}`);
    await settled(page);
    await fits(tab);
  }
  await page.goto("/tables");
  await settled(page);
  await fits("list");
  await page.goto("/plugins");
  await settled(page);
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Choose a file" }).click();
  await (await chooser).setFiles({ name: `${long}.wasm`, mimeType: "application/wasm", buffer: Buffer.from("none") });
  await expect(page.getByText(`${long}.wasm was refused`, { exact: false })).toBeVisible();
  await fits("upload");
});

test("the name of an uploaded file stays a text", async ({ page }) => {
  const name = `<img src=x onerror="window.taken=1">.wasm`;
  await page.goto("/plugins");
  await settled(page);
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Choose a file" }).click();
  await (await chooser).setFiles({ name, mimeType: "application/wasm", buffer: Buffer.from("<script>window.taken=1</script>") });
  await expect(page.getByText(`${name} was refused. Nothing was stored.`)).toBeVisible();
  await inert(page, "plugins");
});

test("a foreign page cannot send a change, and the page says how it is protected", async ({ request, baseURL }) => {
  const page = await request.get("/", { headers: { Accept: "text/html" } });
  const policy = page.headers()["content-security-policy"]!;
  expect(policy).toContain("script-src 'self';");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toContain("unsafe");
  const foreign = await request.post("/api/v1/nl2sql/topics", {
    headers: { "Content-Type": "application/json", Origin: "http://elsewhere.example" },
    data: { title: "taken" },
  });
  expect(foreign.status(), baseURL).toBe(403);
});
