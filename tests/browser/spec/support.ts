/** What every test of the console watches: errors, the policy, and where the page asks. */
import { readdirSync } from "node:fs";
import AxeBuilder from "@axe-core/playwright";
import { type APIRequestContext, test as base, expect, type Locator, type Page } from "@playwright/test";

export { expect };

export const ROLES = ["viewer", "editor", "approver", "admin"] as const;
export type Role = (typeof ROLES)[number];

/** Each request of a page is held for up to this, to find tests that expect what only a fast answer keeps. */
const DELAY_MAX_MS = Number(process.env.LAKEPORT_BROWSER_DELAY_MS ?? 0);

/** Fails the test if its page logs an error, breaks the policy or asks another host. */
export const test = base.extend<{ watched: string[] }>({
  watched: [
    async ({ page, baseURL }, use) => {
      const problems: string[] = [];
      page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
      page.on("console", (message) => {
        // The browser itself logs each answer of 4xx, which the page shows to its reader.
        const isAnswer = message.text().startsWith("Failed to load resource");
        if (message.type() === "error" && !isAnswer) problems.push(`console: ${message.text()}`);
      });
      page.on("request", (request) => {
        const url = request.url();
        if (!url.startsWith(baseURL!) && !url.startsWith("data:") && !url.startsWith("blob:")) problems.push(`asks ${url}`);
      });
      page.on("response", (response) => {
        // 502 is a database's or an engine's answer, as of a data source that is being tested.
        if (response.status() >= 500 && response.status() !== 502) problems.push(`${response.status()}: ${response.url()}`);
      });
      if (DELAY_MAX_MS > 0) {
        await page.route("**/api/**", async (route) => {
          await new Promise((resolve) => setTimeout(resolve, Math.random() * DELAY_MAX_MS));
          await route.continue();
        });
      }
      await use(problems);
      expect(problems).toEqual([]);
    },
    { auto: true },
  ],
});

/** Signs in as a role by its token; the token never comes into the page's storage. */
export async function signIn(page: Page, role: Role): Promise<void> {
  const token = process.env[`TOKEN_${role.toUpperCase()}`]!;
  await page.goto("/");
  await page.getByLabel("Token", { exact: true }).fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("navigation").getByRole("link", { name: "Ask" })).toBeVisible();
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
  expect(kept).not.toContain(token);
}

/** Waits until the page has loaded what it shows. */
export async function settled(page: Page): Promise<void> {
  await expect(page.locator("main h1").first()).toBeVisible();
  await expect(page.locator(".loading")).toHaveCount(0);
}

/** Fails if axe finds something serious. */
export async function accessible(page: Page): Promise<void> {
  const found = await new AxeBuilder({ page }).options({ resultTypes: ["violations"] }).analyze();
  const serious = found.violations.filter((one) => one.impact === "serious" || one.impact === "critical");
  const shown = serious.map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(" ")).slice(0, 3).join(", ")}`);
  expect(shown, page.url()).toEqual([]);
}

/** Chooses in a list that opens below its button; the options lie outside of a dialog. */
export async function choose(where: Page | Locator, label: string, option: string, page = where as Page): Promise<void> {
  await where.getByRole("button", { name: new RegExp(`\\b${label}$`) }).click();
  await page.getByRole("option", { name: option }).first().click();
}

/** The id of what has this name in a list of the interface. */
export async function id(request: APIRequestContext, list: string, member: string, name: string): Promise<number> {
  const answer = await (await request.get(`/api/v1/${list}?pageSize=500`)).json();
  const found = answer.data.records.find((one: Record<string, unknown>) => one[member] === name);
  expect(found, `${list}: ${name}`).toBeTruthy();
  return found.id;
}

/** The file of a component that was built for the tests. */
export function component(name: string): string {
  const folder = process.env.LAKEPORT_WASM_DIR!;
  const file = readdirSync(folder, { recursive: true }).find((one) => String(one).endsWith(`/${name}.wasm`));
  expect(file, `${name}.wasm below ${folder}`).toBeTruthy();
  return `${folder}/${String(file)}`;
}

/** Counts the page's frames from now on; the answer ends it and says how many a second there were. */
export async function frames(page: Page): Promise<() => Promise<string>> {
  await page.evaluate(() => {
    const times: number[] = [];
    const kept = window as { times?: number[] | undefined };
    kept.times = times;
    const frame = (time: number) => {
      times.push(time);
      if (kept.times === times) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
  return async () => {
    const times = await page.evaluate(() => {
      const kept = window as { times?: number[] | undefined };
      const { times } = kept;
      kept.times = undefined;
      return times!;
    });
    expect(times.length).toBeGreaterThan(10);
    const gaps = times.slice(1).map((time, place) => time - times[place]!).sort((one, other) => one - other);
    const rate = (1000 * gaps.length) / (times.at(-1)! - times[0]!);
    return `${rate.toFixed(0)} frames a second, one of 20 took longer than ${gaps[Math.floor(gaps.length * 0.95)]!.toFixed(0)} ms`;
  };
}
