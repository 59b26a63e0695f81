internal import CRDTCore
internal import CWebFiles
internal import FileServing
internal import NIOHTTP1
internal import PeerCrypto

/// The files that the server has within itself: the dashboard, the module for pages, and the documents of the API.
struct WebFileRoutes: Sendable {
    private struct File: Sendable {
        let path: String
        let mediaType: String
        let bytes: [UInt8]
        let tag: EntityTag
    }

    private let files: [File]
    /// What browsers ask for beside every page, and the file that they get.
    private static let iconPath = (asked: "/favicon.ico", given: "/dashboard/icon.svg")

    init() {
        self.files = (0..<web_file_count()).compactMap { index in
            guard let file = web_file_at(index)?.pointee else { return nil }
            let bytes = Array(UnsafeBufferPointer(start: file.bytes, count: file.byte_count))
            let digest = bytes.withUnsafeBytes { Blake2b.unpersonalised256($0) }
            return File(
                path: String(cString: file.path),
                mediaType: String(cString: file.media_type),
                bytes: bytes,
                tag: EntityTag(version: String(digest.0, radix: 16))
            )
        }
    }

    var routes: [Route] {
        let icons = self.files.filter { $0.path == Self.iconPath.given }.map { self.route(Self.iconPath.asked, $0) }
        return icons + self.files.map { self.route($0.path, $0) }
    }

    private func route(_ path: String, _ file: File) -> Route {
        Route(.GET, path, query: .any) { request in
            var response = Response(.ok, file.bytes, type: file.mediaType).tagged(file.tag, for: request.head)
            // It is the same for everyone, and may be kept as long as it is asked for each time.
            response.headers.add(name: "Cache-Control", value: "no-cache")
            return response
        }
    }
}
