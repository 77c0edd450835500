/** Each page, as each role: it loads and shows its heading. Axe finds nothing serious where all is offered, as to an admin. */
import { accessible, expect, ROLES, settled, signIn, test } from "./support";

const PAGES = ["/ask", "/tables", "/lineage", "/bin", "/workflows", "/runs", "/approvals", "/datasources", "/engines", "/plugins"];
const ADMINS_PAGES = ["/tokens", "/audit"];

for (const role of ROLES) {
  test(`the pages open for the role ${role}`, async ({ page }) => {
    test.setTimeout(300_000);
    await signIn(page, role);
    const navigation = page.getByRole("navigation", { name: "Menu" });
    for (const name of ["Tokens", "Audit log"]) {
      await expect(navigation.getByRole("link", { name })).toHaveCount(role === "admin" ? 1 : 0);
    }
    for (const path of role === "admin" ? [...PAGES, ...ADMINS_PAGES] : PAGES) {
      await page.goto(path);
      await settled(page);
      if (path === "/lineage") await expect(page.locator(".graph-node").first()).toBeVisible();
      if (role === "admin") await accessible(page);
    }
  });
}

test("the pages are accessible in the dark, in Chinese, and on a phone", async ({ page }) => {
  test.setTimeout(300_000);
  await signIn(page, "admin");
  await page.evaluate(() => {
    localStorage.setItem("lakeport.theme", "dark");
    localStorage.setItem("lakeport.language", "zh");
  });
  await page.setViewportSize({ width: 390, height: 800 });
  for (const path of [...PAGES, ...ADMINS_PAGES]) {
    await page.goto(path);
    await settled(page);
    if (path === "/lineage") await expect(page.locator(".graph-node").first()).toBeVisible();
    await accessible(page);
    const isWide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth + 1);
    expect(isWide, `${path} is wider than a phone`).toBe(false);
  }
});

test("a wrong token is refused, and what was typed stays", async ({ page }) => {
  await page.goto("/workflows");
  await page.getByLabel("Token").fill("lkp_wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("alert")).toContainText("not known here");
  await expect(page.getByRole("alert")).toContainText("Request");
  await expect(page.getByLabel("Token")).toHaveValue("lkp_wrong");
});

test("signing out ends the session", async ({ page }) => {
  await signIn(page, "viewer");
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByLabel("Token")).toBeVisible();
});
