/** Each page and each of its tabs loads and shows its heading, and axe finds nothing serious, where all is offered, as to an admin. */
import { type Page } from "@playwright/test";
import { accessible, expect, id, settled, signIn, test } from "./support";

const PAGES = ["/ask", "/tables", "/lineage", "/bin", "/workflows", "/runs", "/approvals", "/datasources", "/engines", "/plugins"];
const ADMINS_PAGES = ["/tokens", "/audit", "/settings"];

/** The pages of one resource each, with their tabs. */
async function details(page: Page): Promise<string[]> {
  const table = `/tables/${await id(page.request, "tables", "tableName", "dwd_order_details")}`;
  const daily = await id(page.request, "workflows", "name", "daily sales");
  const workflow = `/workflows/${daily}`;
  const source = `/datasources/${await id(page.request, "datasources", "name", "lakeside")}`;
  const runs = await (await page.request.get(`/api/v1/workflows/${daily}/runs`)).json();
  const tabs = (path: string, names: string[]) => [path, ...names.map((name) => `${path}?tab=${name}`)];
  return [
    ...tabs(table, ["ddl", "size", "access", "history", "lineage", "tasks", "changes"]),
    ...tabs(workflow, ["runs", "schedule", "publication", "versions", "backfill", "settings"]),
    `${workflow}/runs/${runs.data.records[0].instanceId}`,
    ...tabs("/runs", ["failed", "all"]).slice(1),
    ...tabs(source, ["sync", "databases", "settings"]),
    ...tabs("/plugins/dialect:sqlite", ["log"]),
  ];
}

/** Forms, in dialogs and on pages of their own. */
const FORMS = ["/tables?new=true", "/datasources?new=true", "/engines?add=true", "/tokens?add=true", "/workflows?import=json"];

/** Opens a page and waits for what it shows. */
async function open(page: Page, path: string) {
  await page.goto(path);
  await settled(page);
  if (path === "/lineage") await expect(page.locator(".graph-node").first()).toBeVisible();
}

test("the pages are accessible, in every tab", async ({ page }) => {
  test.setTimeout(300_000);
  await signIn(page, "admin");
  for (const path of [...PAGES, ...ADMINS_PAGES, ...(await details(page))]) {
    await open(page, path);
    await accessible(page);
  }
});

test("the pages are accessible in the dark, in Chinese, and on a phone", async ({ page }) => {
  test.setTimeout(300_000);
  await signIn(page, "admin");
  await page.evaluate(() => {
    localStorage.setItem("lakeport.theme", "dark");
    localStorage.setItem("lakeport.language", "zh");
  });
  await page.setViewportSize({ width: 390, height: 800 });
  // What differs in the dark are the colours, which tabs share with their page.
  const wholes = (await details(page)).filter((path) => !path.includes("tab="));
  for (const path of [...PAGES, ...ADMINS_PAGES, ...wholes, ...FORMS]) {
    await open(page, path);
    await accessible(page);
    const isWide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth + 1);
    expect(isWide, `${path} is wider than a phone`).toBe(false);
  }
});

test("a wrong token is refused, and what was typed stays", async ({ page }) => {
  await page.goto("/workflows");
  await page.getByLabel("Token", { exact: true }).fill("lkp_wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("alert")).toContainText("not known here");
  await expect(page.getByRole("alert")).toContainText("Request");
  await expect(page.getByLabel("Token", { exact: true })).toHaveValue("lkp_wrong");
});

test("a session that ends leaves what was typed, and another caller begins from the start", async ({ page, playwright, baseURL }) => {
  const admin = await playwright.request.newContext({ baseURL: baseURL!, extraHTTPHeaders: { Authorization: `Bearer ${process.env.TOKEN_ADMIN}` } });
  const make = async (): Promise<{ id: number; token: string }> => {
    const made = await admin.post("/api/v1/tokens", { data: { name: "guest", role: "viewer" } });
    expect(made.ok(), await made.text()).toBe(true);
    return (await made.json()).data;
  };
  const again = page.getByRole("dialog", { name: "Sign in" });
  const revoke = async ({ id }: { id: number }) => {
    expect((await admin.delete(`/api/v1/tokens/${id}`)).ok()).toBe(true);
    await expect(again).toBeVisible();
  };
  const signInAgain = async (token: string) => {
    await again.getByLabel("Token", { exact: true }).fill(token);
    await again.getByRole("button", { name: "Sign in" }).click();
    await expect(again).toHaveCount(0);
  };
  const guest = await make();
  await page.goto("/ask");
  await page.getByLabel("Token", { exact: true }).fill(guest.token);
  await page.getByRole("button", { name: "Sign in" }).click();
  const question = page.getByLabel("Question");
  await question.fill("not sent yet");
  await revoke(guest);
  const renewed = await make();
  await signInAgain(renewed.token);
  await expect(question).toHaveValue("not sent yet");
  await revoke(renewed);
  await signInAgain(process.env.TOKEN_EDITOR!);
  await expect(question).toHaveValue("");
  await admin.dispose();
});

test("signing out ends the session", async ({ page }) => {
  await signIn(page, "viewer");
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByLabel("Token", { exact: true })).toBeVisible();
});
