/**
 * Vega's renderer, with paints that are colours only. A paint may also be an address (`url(…)`), which the browser would
 * load, and an expression or a row can make one that the specification does not show.
 */
import { renderModule } from "vega";

interface Painted {
  fill?: unknown;
  stroke?: unknown;
}

interface Module {
  renderer: new (...given: never[]) => { style(element: Element, item: Painted | null): void };
}

// Vega's types know only the registration.
const module = renderModule as unknown as (name: string, added?: Module) => Module;

/** The name that the renderer has for Vega. */
export const INERT = "inert";

const vega = module("svg");

class InertRenderer extends vega.renderer {
  override style(element: Element, item: Painted | null): void {
    if (item) {
      if (!isColour(item.fill)) item.fill = null;
      if (!isColour(item.stroke)) item.stroke = null;
    }
    super.style(element, item);
  }
}

/** A gradient is an object, and names colours. Style sheets read `\75rl(` as `url(`. */
function isColour(paint: unknown): boolean {
  return typeof paint !== "string" || !/url\s*\(|\\/i.test(paint);
}

module(INERT, { ...vega, renderer: InertRenderer });
