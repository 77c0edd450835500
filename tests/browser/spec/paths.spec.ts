/** The main paths of the frame and of the questions, with the example company. */
import { readFileSync } from "node:fs";
import { expect, settled, test } from "./support";

const QUESTION = "Top 5 products by sales amount";

test("a question is answered with a chart, rows and SQL, and is still there after a reload", async ({ page }) => {
  await page.goto("/");
  await expect(page).toHaveURL(/\/ask$/);
  await page.getByLabel("Question").fill(QUESTION);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/ask\/[0-9a-f-]+$/);
  const answer = page.getByRole("region", { name: QUESTION, exact: true });
  await expect(answer.getByRole("figure", { name: `Chart: ${QUESTION}` }).getByText("Longjing", { exact: true })).toBeVisible();
  await answer.getByRole("tab", { name: "Table" }).click();
  const rows = answer.getByRole("region", { name: `Rows: ${QUESTION}` });
  await expect(rows.getByRole("row")).toHaveCount(1 + 5);
  const saved = page.waitForEvent("download");
  await answer.getByRole("button", { name: "Download CSV" }).click();
  const lines = readFileSync(await (await saved).path(), "utf8").trim().split(/\r?\n/);
  expect(lines).toHaveLength(1 + 5);
  await page.reload();
  await expect(page.getByText("was first of", { exact: false }).first()).toBeVisible();
});

test("the SQL of an answer is edited and run, and the answer is rated", async ({ page }) => {
  await page.goto("/ask");
  await page.getByRole("button", { name: QUESTION, exact: true }).click();
  const answer = page.getByRole("region", { name: QUESTION, exact: true });
  await answer.getByRole("tab", { name: "SQL" }).click();
  const editor = answer.getByRole("textbox", { name: `SQL: ${QUESTION}` });
  await expect(editor).toContainText("SELECT");
  await editor.fill("SELECT city, count(*) AS customers FROM ods_customers GROUP BY city");
  await page.keyboard.press("ControlOrMeta+Enter");
  const made = answer.getByRole("region", { name: "Rows of the changed SQL" });
  await expect(made.getByRole("cell", { name: "Beijing" })).toBeVisible();
  await expect(made.getByRole("row")).toHaveCount(1 + 8);
  // What the guard refuses stays typed, and says why.
  await editor.fill("DELETE FROM ods_customers");
  await answer.getByRole("button", { name: "Run", exact: true }).click();
  await expect(answer.getByRole("alert")).toContainText("Request");
  await expect(editor).toContainText("DELETE FROM ods_customers");
  // The database's reason alone, once.
  await editor.fill("SELECT nope FROM ods_products");
  await page.keyboard.press("ControlOrMeta+Enter");
  await expect(answer.getByRole("alert").locator("p").first()).toHaveText("the database refused the statement: no such column: nope");
  await expect(answer.getByRole("alert").getByText("no such column")).toHaveCount(1);
  // Each table of the data source is offered, and not after the statement was sent.
  await editor.fill("");
  await editor.pressSequentially("SELECT * FROM ods_cu");
  await expect(answer.getByRole("option", { name: "ods_customers" })).toBeVisible();
  await answer.getByRole("button", { name: "Run", exact: true }).click();
  await expect(answer.getByRole("option")).toHaveCount(0);
  // Nor does the list open later, if it was still looked for.
  await editor.pressSequentially("s");
  await answer.getByRole("button", { name: "Run", exact: true }).click();
  await expect(answer.getByRole("alert")).toContainText("ods_cus");
  await expect(answer.getByRole("option")).toHaveCount(0);
  await answer.getByRole("button", { name: "Original SQL" }).click();
  await expect(editor).toContainText("LIMIT");
  const good = page.getByRole("button", { name: "Good answer" });
  await good.click();
  await expect(good).toHaveAttribute("aria-pressed", "true");
  await page.reload();
  await expect(good).toHaveAttribute("aria-pressed", "true");
});

test("days along an axis are written as everywhere", async ({ page }) => {
  const question = "How many orders were there per day last month?";
  await page.goto("/ask");
  await page.getByLabel("Question").fill(question);
  await page.keyboard.press("Enter");
  const days = page.getByRole("figure", { name: `Chart: ${question}` }).locator(".role-axis-label").first().locator("text");
  await expect(days.first()).toBeVisible();
  for (const day of await days.allTextContents()) expect(day).toMatch(/^\d{4}-\d\d-\d\d$/);
});

test("an answer is stopped while its query runs", async ({ page, request }) => {
  const question = "How long is for ever?";
  const made = await request.post("/api/v1/nl2sql/verified", {
    data: {
      question, datasource: "lakeside",
      sql: "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000000000) SELECT count(*) AS n FROM n",
    },
  });
  expect(made.ok(), await made.text()).toBe(true);
  await page.goto("/ask");
  await page.getByLabel("Question").fill(question);
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByRole("button", { name: "Stop" }).click();
  await expect(page.getByText("Stopped before it was answered.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Ask again", exact: true })).toBeVisible();
});

test("a change in another tab is seen within a second", async ({ page, request }) => {
  await page.goto("/workflows");
  await settled(page);
  const name = "made in another tab";
  const made = await request.post("/api/v1/workflows", { headers: { "Content-Type": "application/json" }, data: { name } });
  expect(made.ok()).toBe(true);
  const before = Date.now();
  await expect(page.getByText(name).first()).toBeVisible();
  console.log(`seen after ${Date.now() - before} ms`);
});

test("the keyboard leads to the places, and an address that does not exist says so", async ({ page }) => {
  await page.goto("/ask");
  await settled(page);
  // The field of the question has the focus; Escape leaves it.
  await page.keyboard.press("Escape");
  await page.keyboard.press("g");
  await page.keyboard.press("w");
  await expect(page).toHaveURL(/\/workflows$/);
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Keyboard" })).toBeVisible();
  await page.keyboard.press("Escape");
  await page.goto("/nowhere/at/all");
  await expect(page.getByText("There is no such page").first()).toBeVisible();
});

test("the language and the colours are kept", async ({ page }) => {
  await page.goto("/tables");
  await settled(page);
  await page.getByRole("button", { name: "中文" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("数据目录");
  await page.getByRole("button", { name: /深色|浅色/ }).click();
  const theme = await page.evaluate(() => document.documentElement.dataset.theme);
  await page.reload();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("数据目录");
  expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe(theme);
});
