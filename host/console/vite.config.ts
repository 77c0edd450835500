import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The server serves `dist` at `/`; `npm run dev` takes the interface from a server that already runs.
export default defineConfig({
  plugins: [react()],
  build: {
    target: "es2022",
    assetsDir: "assets",
    // A file in the text of another would need `data:` in the policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Vega, the graph's layout and the editor load only on the pages that need them.
    chunkSizeWarningLimit: 2000,
  },
  server: {
    port: 5173,
    proxy: {
      "/api": {
        target: process.env.LAKEPORT_URL ?? "http://127.0.0.1:8080",
        // The server refuses changes from pages of another origin.
        configure: (proxy) => proxy.on("proxyReq", (request) => request.removeHeader("origin")),
        changeOrigin: true,
      },
    },
  },
});
