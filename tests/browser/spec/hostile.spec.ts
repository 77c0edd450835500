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
    await page.route("**/api/v1/nl2sql/topics/*/messages*", async (route) => {
      const response = await route.fetch({ maxRetries: 3 });
      const answer = await response.json();
      for (const message of answer.items) {
        for (const artifact of message.artifacts) if (artifact.kind === "chart") artifact.spec = hostile;
      }
      await route.fulfill({ response, json: answer });
    });
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
