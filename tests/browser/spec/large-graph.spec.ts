/** A lineage of 1,000 tables is laid out, and moves with the mouse. The harness has made it; the figures are printed. */
import { expect, frames, settled, test } from "./support";

const TABLES = 1_000;

test("a lineage of 1,000 tables is laid out and dragged", async ({ page, request }) => {
  const graph = (await (await request.get("/api/v1/lineage?maxNodes=20000")).json()).data;
  expect(graph.nodes.length).toBeGreaterThanOrEqual(TABLES);
  await page.goto("/tables");
  await settled(page);
  // In the page: when the answer was there, and when the first picture of it is.
  await page.evaluate(() => {
    const look = () => {
      if (document.querySelectorAll(".graph-node").length === 0) requestAnimationFrame(look);
      else requestAnimationFrame(() => performance.mark("drawn"));
    };
    performance.mark("asked");
    look();
  });
  await page.getByRole("navigation", { name: "Menu" }).getByRole("link", { name: "Lineage" }).click();
  await page.waitForFunction(() => performance.getEntriesByName("drawn").length > 0);
  const [asked, answered, drawn] = await page.evaluate(() => {
    const at = (name: string) => performance.getEntriesByName(name)[0]!.startTime;
    const answer = performance.getEntriesByType("resource").find((one) => one.name.includes("/api/v1/lineage?")) as PerformanceResourceTiming;
    return [at("asked"), answer.responseEnd, at("drawn")];
  });
  console.log(`${TABLES} tables drawn ${Math.round(drawn! - answered!)} ms after the answer, ${Math.round(drawn! - asked!)} ms after the press`);
  await expect(page.getByText(/^1,000 tables, [\d,]+ edges/)).toBeVisible();

  const box = page.getByRole("application").first();
  const viewport = page.locator(".react-flow__viewport");
  const place = await box.boundingBox();
  for (const [what, presses] of [["as it opens", 0], ["all of it in sight", 1]] as const) {
    if (presses > 0) {
      const before = await viewport.getAttribute("style");
      await page.getByRole("button", { name: "Show all", exact: true }).click();
      await expect(viewport).not.toHaveAttribute("style", before!);
      await expect.poll(() => page.locator(".graph-node").count()).toBe(TABLES);
    }
    const from = await viewport.getAttribute("style");
    const stop = await frames(page);
    const [x, y] = [place!.x + place!.width / 2, place!.y + place!.height / 2];
    await page.mouse.move(x, y);
    await page.mouse.down();
    for (let step = 1; step <= 80; step += 1) await page.mouse.move(x - step * 3, y + Math.sin(step / 10) * 60);
    await page.mouse.up();
    console.log(`dragged, ${what}: ${await stop()}`);
    await expect(viewport).not.toHaveAttribute("style", from!);
  }
});
