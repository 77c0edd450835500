/** Pictures of the main pages for README and docs, light and dark; `cargo xtask screenshots` makes them. Not a test. */
import { statSync } from "node:fs";
import { type Page } from "@playwright/test";
import { component, expect, id, settled, test } from "./support";

const FOLDER = process.env.SCREENSHOTS!;
const FILE_MAX_BYTES = 150_000;

test.use({ viewport: { width: 1280, height: 800 }, deviceScaleFactor: 1 });

async function take(page: Page, name: string) {
  for (const theme of ["light", "dark"]) {
    const shown = () => page.evaluate(() => document.documentElement.dataset.theme);
    if ((await shown()) !== theme) await page.getByRole("button", { name: /^(Dark|Light)\b/ }).click();
    await expect.poll(shown).toBe(theme);
    await settled(page);
    // What moves or fades in has come to rest, and nothing has the pointer above it.
    await page.mouse.move(0, 0);
    await page.waitForFunction(() => document.getAnimations().every((one) => one.playState !== "running"));
    const path = `${FOLDER}/${name}-${theme}.png`;
    await ready[name]?.(page);
    await page.screenshot({ path, animations: "disabled", caret: "hide" });
    expect(statSync(path).size, path).toBeLessThan(FILE_MAX_BYTES);
  }
}

/** What has to be in sight first. */
const ready: Record<string, (page: Page) => Promise<void>> = {
  ask: async (page) => {
    await expect(page.getByRole("figure", { name: /^Chart/ }).locator("svg.marks")).toBeVisible();
    await page.getByRole("region", { name: QUESTION, exact: true }).evaluate((element) => element.scrollIntoView({ block: "nearest" }));
  },
  lineage: (page) => expect(page.getByRole("img", { name: /^dws_daily_sales,/ })).toBeVisible(),
  workflow: (page) => expect(page.getByRole("textbox", { name: "SQL" })).toContainText("INSERT"),
  runs: (page) => expect(page.getByRole("grid").getByRole("gridcell").first()).toBeVisible(),
  plugin: (page) => expect(page.getByRole("heading", { name: "What it would be granted" })).toBeVisible(),
};

const QUESTION = "Top 5 products by sales amount";

test("the main pages, light and dark", async ({ page, request }) => {
  test.setTimeout(600_000);
  await page.goto("/ask");
  await page.getByRole("button", { name: QUESTION, exact: true }).click();
  await expect(page.getByRole("figure", { name: /^Chart/ }).locator("svg.marks")).toBeVisible();
  await take(page, "ask");

  const table = await id(request, "tables", "tableName", "dwd_order_details");
  await page.goto(`/tables/${table}`);
  await take(page, "table");
  await page.goto(`/lineage?table=${table}&depth=all`);
  await take(page, "lineage");

  const workflow = await id(request, "workflows", "name", "daily sales");
  await page.goto(`/workflows/${workflow}`);
  await page.getByRole("img", { name: /^daily totals,/ }).click();
  await take(page, "workflow");
  await page.goto("/runs");
  const grid = page.getByRole("grid");
  await grid.getByRole("button", { name: /^daily totals, .* failed$/ }).last().click();
  await take(page, "runs");

  await page.goto("/plugins");
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Choose a file" }).click();
  await (await chooser).setFiles(component("tool_wordcount"));
  await expect(page).toHaveURL(/review=/);
  await take(page, "plugin");
});
