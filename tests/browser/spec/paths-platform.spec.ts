/** The main paths of the platform's pages: engines, plugins, tokens, audit log. The last ends local mode. */
import { type Page } from "@playwright/test";
import { choose, component, expect, settled, test } from "./support";

test("an engine is tested, and says what was looked at", async ({ page }) => {
  await page.goto("/engines");
  await settled(page);
  await page.getByRole("row", { name: /^local/ }).getByRole("button", { name: "Test" }).click();
  await expect(page.getByRole("row", { name: /^local/ })).toContainText("passed");
  const checks = page.getByRole("region", { name: "Checks of local" });
  await expect(checks.getByRole("row").nth(1)).toContainText("ok");
});

async function upload(page: Page, name: string) {
  await page.goto("/plugins");
  await settled(page);
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Choose a file" }).click();
  await (await chooser).setFiles(component(name));
}

test("a plugin is uploaded, reviewed, activated, quarantined and released", async ({ page }) => {
  await upload(page, "engine_timer");
  await expect(page).toHaveURL(/\/plugins\/[^?]+\?review=/);
  await expect(page.getByRole("heading", { name: /^Generation / })).toBeVisible();
  await expect(page.getByText("No generation is active. Everything below is new.")).toBeVisible();
  const wanted = page.getByRole("heading", { name: "What it would be granted" });
  await expect(wanted).toBeVisible();
  // Another window does not know what it wants, and activates it only once it does.
  await page.reload();
  const activate = page.getByRole("button", { name: "Activate", exact: true });
  await expect(activate).toBeDisabled();
  await expect(wanted).toHaveCount(0);
  await page.getByRole("button", { name: "Check it again" }).click();
  await expect(wanted).toBeVisible();
  await expect(activate).toBeEnabled();
  await page.getByRole("button", { name: "Activate", exact: true }).click();
  const generations = page.getByRole("region", { name: "Generations" });
  await expect(generations.getByRole("row", { name: /active all calls/ })).toHaveCount(1);

  await page.getByRole("button", { name: "Quarantine" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Reason").fill("it is looked at");
  await dialog.getByRole("button", { name: "Quarantine" }).click();
  await expect(page.getByRole("status").filter({ hasText: "it is looked at" })).toBeVisible();
  await page.getByRole("button", { name: "Release" }).click();
  await dialog.getByRole("button", { name: "Release" }).click();
  await expect(page.getByRole("status").filter({ hasText: "it is looked at" })).toHaveCount(0);
});

test("a second generation is a canary, gets all calls, and is rolled back", async ({ page }) => {
  await upload(page, "greeter_v1");
  await page.getByRole("button", { name: "Activate", exact: true }).click();
  const generations = page.getByRole("region", { name: "Generations" });
  await expect(generations.getByRole("row", { name: /active all calls/ })).toHaveCount(1);
  await upload(page, "greeter_v2");
  await expect(page.getByRole("region", { name: "Difference to the active generation" })).toContainText("Digest");
  await page.getByText("As a canary, for a share of the calls").click();
  await page.getByLabel("Percent of the calls").fill("25");
  await page.getByRole("button", { name: "Activate", exact: true }).click();
  await expect(generations.getByRole("row", { name: /canary 25 %/ })).toHaveCount(1);
  await expect(generations.getByRole("row", { name: /active 75 %/ })).toHaveCount(1);
  await generations.getByRole("row", { name: /canary/ }).getByRole("button", { name: "Review and activate" }).click();
  await page.getByRole("button", { name: "Activate", exact: true }).click();
  await expect(generations.getByRole("row", { name: /active all calls/ })).toHaveCount(1);
  await page.getByRole("button", { name: "Roll back" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Roll back" }).click();
  await expect(generations.getByRole("row").last()).toContainText("active all calls");
});

test("a component that imports what is not granted is refused with its name", async ({ page }) => {
  await upload(page, "sockets");
  await expect(page.getByText("sockets.wasm was refused. Nothing was stored.")).toBeVisible();
  await expect(page.getByRole("alert")).toContainText("wasi:sockets");
});

test("the audit log has what was done, and filters it", async ({ page }) => {
  await page.goto("/audit");
  await settled(page);
  const log = page.getByRole("region", { name: "Audit log" });
  await expect(log.getByRole("row", { name: /stagePlugin/ }).first()).toBeVisible();
  await choose(page, "Operation", "quarantinePlugin");
  await expect(page).toHaveURL(/operation=quarantinePlugin/);
  await expect(log.getByRole("row")).toHaveCount(1 + 1);
  await log.getByRole("button", { name: /^Details/ }).click();
  await expect(page.getByRole("heading", { name: /^Record \d+/ })).toBeVisible();
});

test("the first token ends local mode, is shown once, and signs in; the second is revoked", async ({ page }) => {
  await page.goto("/tokens");
  await page.getByRole("button", { name: "Create a token" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("boss");
  await dialog.getByRole("button", { name: "Create", exact: true }).click();
  const shown = page.getByRole("dialog", { name: /The new token/ });
  const token = (await shown.getByText(/^lkp_/).textContent())!.trim();
  await shown.getByRole("button", { name: "I have kept it" }).click();
  await expect(page.getByRole("row", { name: /boss/ })).toBeVisible();
  await expect(page.getByText(token)).toHaveCount(0);
  await page.reload();
  await expect(page.getByRole("row", { name: /boss/ })).toBeVisible();

  await page.getByRole("button", { name: "Create a token" }).click();
  await dialog.getByLabel("Name").fill("reader");
  await choose(dialog, "Role", "viewer: read, ask, preview", page);
  await dialog.getByRole("button", { name: "Create", exact: true }).click();
  await shown.getByRole("button", { name: "I have kept it" }).click();
  await page.getByRole("row", { name: /reader/ }).getByRole("button", { name: "Revoke" }).click();
  await dialog.getByRole("button", { name: "Revoke" }).click();
  await expect(page.getByRole("row", { name: /reader/ })).toHaveCount(0);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Token", { exact: true }).fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Menu" }).getByRole("link", { name: "Tokens" }).click();
  await expect(page.getByRole("row", { name: /boss/ })).toBeVisible();
});
