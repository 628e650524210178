import { answer } from "../../sessions";

export const GET = answer;
export const POST = answer;
export const DELETE = answer;
