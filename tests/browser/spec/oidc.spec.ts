/** Signing in at an OIDC issuer: a real provider, whose pages the browser shows. */
import { expect, test } from "@playwright/test";

test("people sign in at the issuer and come back to where they were", async ({ page, baseURL }) => {
  await page.goto("/workflows?state=offline");
  await page.getByRole("link", { name: /Sign in at/ }).click();
  await page.locator("input[name=login]").fill("editor-ada");
  await page.locator("input[name=password]").fill("any");
  await page.locator("button[type=submit]").click();
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page).toHaveURL(`${baseURL}/workflows?state=offline`);
  await expect(page.getByText("editor-ada")).toBeVisible();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Workflows");
  const session = (await page.context().cookies()).find((cookie) => cookie.name === "lakeport_session")!;
  expect([session.httpOnly, session.sameSite]).toEqual([true, "Strict"]);
  expect(await page.evaluate(() => document.cookie)).toBe("");
  await page.reload();
  await expect(page.getByText("editor-ada")).toBeVisible();
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByLabel("Token", { exact: true })).toBeVisible();
});

test("who declines or has no role is told so", async ({ page }) => {
  await page.goto("/");
  await page.getByRole("link", { name: /Sign in at/ }).click();
  await page.getByRole("link", { name: /cancel/i }).click();
  await expect(page.getByRole("alert")).toBeVisible();
  await expect(page.getByLabel("Token", { exact: true })).toBeVisible();
  await page.getByRole("link", { name: /Sign in at/ }).click();
  await page.locator("input[name=login]").fill("stranger");
  await page.locator("input[name=password]").fill("any");
  await page.locator("button[type=submit]").click();
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page.getByRole("alert")).toContainText("role");
});
