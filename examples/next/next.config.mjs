/** turnlog has native code, which Next.js must not bundle. */
export default { serverExternalPackages: ["turnlog"] };
