/** A catalogue of 100,000 tables, which the harness has made, is scrolled to its end and searched; the figures are printed. */
import { expect, frames, settled, test } from "./support";

test("the list of 100,000 tables scrolls to its end, and one is found", async ({ page, request }) => {
  const total = (await (await request.get("/api/v1/tables?pageSize=1")).json()).data.total;
  expect(total).toBeGreaterThanOrEqual(100_000);
  let before = Date.now();
  const took = (what: string) => {
    console.log(`${what}: ${Date.now() - before} ms`);
    before = Date.now();
  };
  await page.goto("/tables?sort=tableName&order=asc");
  await settled(page);
  const list = page.getByRole("region", { name: "Tables" });
  await expect(list.getByRole("link").first()).toBeVisible();
  await expect(page.getByText(`${total.toLocaleString("en")} tables`)).toBeVisible();
  took("opened");
  const first = await list.getByRole("link").first().textContent();
  await list.hover();
  const stop = await frames(page);
  for (let turn = 0; turn < 60; turn += 1) await page.mouse.wheel(0, 400);
  console.log(`scrolled: ${await stop()}`);
  await expect(list.getByRole("link").first()).not.toHaveText(first!);
  before = Date.now();
  await list.focus();
  await page.keyboard.press("End");
  // Its last page was loaded, and nothing of what lies between is drawn.
  await expect(list.getByRole("link").last()).toHaveText("ods_products");
  took("at the end");
  expect(await list.getByRole("row").count()).toBeLessThan(200);
  await page.keyboard.press("Home");
  await expect(list.getByRole("link").first()).toHaveText(first!);
  took("at the beginning");
  await page.keyboard.press("/");
  await page.keyboard.type("many_099999");
  await expect(page.getByRole("link", { name: /many_099999/ }).first()).toBeVisible();
  took("one found");
});
