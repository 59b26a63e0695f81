/// How a command's data is wanted.
struct OutputFormat: Hashable, Codable, Sendable {
    var isJSON: Bool
}
