internal import FileServing
internal import NIOHTTP1

/// Pages of the user's own, from a folder that the daemon was told to serve.
///
/// They have the origin of the dashboard, and so all its rights; the same policy keeps them from running foreign code.
struct PageRoutes: Sendable {
    private let tree: LazyFileTree

    private static let types: [String: String] = [
        "html": "text/html; charset=utf-8", "htm": "text/html; charset=utf-8", "css": "text/css; charset=utf-8",
        "js": "text/javascript; charset=utf-8", "mjs": "text/javascript; charset=utf-8", "svg": "image/svg+xml",
        "woff2": "font/woff2", "wasm": "application/wasm",
    ]

    init(path: String) { self.tree = LazyFileTree(path: path) }

    var routes: [Route] {
        [
            Route(.GET, "/app", query: .any) { _ in Response(.permanentRedirect, headers: ["Location": "/app/"]) },
            Route(.GET, "/app/{path…}", query: .any) { try await self.read($0) },
        ]
    }

    /// The addresses in a page count from the last slash, so a folder has one at its end.
    private static func redirect(to folder: FilePath) -> Response {
        let path = folder.components.map { PercentCoding.encoded($0) + "/" }.joined()
        return Response(.permanentRedirect, headers: ["Location": "/app/\(path)"])
    }

    private func read(_ request: Request) async throws -> Response {
        var request = request
        if request.parameters.last?.isEmpty ?? true {
            request.parameters = request.parameters.dropLast() + ["index.html"]
        }
        let (path, _) = try FileRoutes.path(of: request)
        let tree = try await self.tree.open()
        let name = path.name ?? ""
        var type = MediaType.of(fileName: name)
        if let page = Self.types[name.split(separator: ".").last.map { $0.lowercased() } ?? ""] {
            type = MediaType(text: page, disposition: .inline)
        }
        let (head, media) = (request.head, type)
        return try await FileRoutes.onDisk {
            guard case .file(let file) = try tree.open(path) else { return Self.redirect(to: path) }
            let whole = VirtualFile(wholeFile: file.length)
            var response = try FileRoutes.answer(file, whole, path, head, type: media)
            // The page of a program is not the data that it shows.
            response.headers.add(name: "Cache-Control", value: "no-cache")
            return response
        }
    }
}
