internal import CRDTCore
internal import FileServing
internal import Foundation
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization

/// The files of the workspace's folder, and the sound among them with the index of movies in front.
struct FileRoutes: Sendable {
    private let tree: LazyFileTree
    private let arrangements = Arrangements()

    private static let entryCount = 1_000
    /// Times that a file is opened again because somebody wrote into it meanwhile.
    private static let repetitionMax = 16

    /// `path`: that of the folder, which is made when it is first used.
    init(path: String) { self.tree = LazyFileTree(path: path) }

    var routes: [Route] {
        [
            // The folder itself can be neither written nor deleted.
            Route(.GET, "/api/file/", query: .any) { Shaped<FolderAnswer>(try await self.read($0)) },
            Route(.GET, "/api/file/{path…}", query: .any) { try await self.read($0) },
            Route(.PUT, "/api/file/{path…}", query: .any) { try await self.write($0) },
            Route(.DELETE, "/api/file/{path…}", query: .any) { try await self.delete($0) },
            Route(.GET, "/audio/{path…}", query: .any) { try await self.play($0) },
        ]
    }

    // MARK: - Reading

    private func read(_ request: Request) async throws -> Response {
        let (path, isFolder) = try Self.path(of: request)
        let tree = try await self.tree.open()
        if isFolder { return try await Self.list(path, in: tree, request) }
        return try await Self.onDisk {
            let file = try Self.file(at: path, in: tree)
            return try Self.answer(file, VirtualFile(wholeFile: file.length), path, request.head)
        }
    }

    private func play(_ request: Request) async throws -> Response {
        let (path, _) = try Self.path(of: request)
        let type = MediaType.of(fileName: path.name ?? "")
        guard type.isAudible else {
            throw Problem(
                .unsupportedMediaType,
                "unsupported-media-type",
                "This is no sound, by the end of its name.",
                advice: "Read it below /api/file/ instead."
            )
        }
        let tree = try await self.tree.open()
        let arrangements = self.arrangements
        return try await Self.onDisk {
            let file = try Self.file(at: path, in: tree)
            var virtual = VirtualFile(wholeFile: file.length)
            if type.hasMovieIndex { virtual = try arrangements.arrangement(of: file) }
            return try Self.answer(file, virtual, path, request.head)
        }
    }

    private static func file(at path: FilePath, in tree: FileTree) throws(FileTreeError) -> OpenFile {
        guard case .file(let file) = try tree.open(path) else { throw FileTreeError.isFolder }
        return file
    }

    /// Answers with a file, or with the parts that a client asks for.
    ///
    /// Reads the first bytes of it, so call it on a thread for the disk.
    static func answer(
        _ file: OpenFile,
        _ virtual: VirtualFile,
        _ path: FilePath,
        _ head: RequestHead,
        type: MediaType? = nil
    ) throws -> Response {
        let now = HTTPDate.present
        let type = type ?? MediaType.of(fileName: path.name ?? "")
        var validators = file.version.validators(now: now)
        validators.entityTag = validators.entityTag.flatMap { virtual.entityTag(for: $0) }
        let method = head.method.rawValue
        let conditions = Preconditions { head.headers[$0] }
        switch conditions.verdict(method: method, current: validators, now: now) {
        case .proceed: break
        case .notModified: return Self.described(Response(.notModified), validators)
        case .failed: throw FileTreeError.preconditionFailed
        case .malformed(let field): throw FileTreeError.malformedPrecondition(field)
        }
        let selection = ByteRanges.select(
            method: method,
            range: head.headers["Range"],
            ifRange: head.headers["If-Range"],
            length: virtual.length,
            contentType: type.text,
            validators: validators,
            now: now
        )
        var response = Response(.ok)
        var contentType = type.text
        switch selection {
        case .whole: response.body = .segments(Self.segments(of: virtual, 0..<virtual.length, file))
        case .part(let range):
            response = Response(.partialContent, body: .segments(Self.segments(of: virtual, range.bytes, file)))
            response.headers.add(name: "Content-Range", value: range.fieldValue)
        case .parts(let parts):
            let segments = parts.pieces.flatMap { piece -> [Response.Segment] in
                switch piece {
                case .text(let bytes): [.bytes(ByteBuffer(bytes: bytes))]
                case .content(let range): Self.segments(of: virtual, range, file)
                }
            }
            response = Response(.partialContent, body: .segments(segments))
            contentType = parts.contentType
        case .unsatisfiable(let contentRange):
            throw Problem(
                .rangeNotSatisfiable,
                "range-not-satisfiable",
                "The file has \(virtual.length) bytes, and none in the range.",
                advice: "Ask for bytes that are there.",
                headers: ["Content-Range": contentRange]
            )
        }
        if head.method != .HEAD, case .segments(let segments) = response.body {
            response.body = .segments(try segments.withFirstBytesRead())
        }
        response.headers.add(name: "Content-Type", value: contentType)
        response.headers.add(name: "Accept-Ranges", value: "bytes")
        response.headers.add(name: "Content-Disposition", value: type.contentDisposition(fileName: path.name ?? ""))
        return Self.described(response, validators)
    }

    private static func segments(
        of virtual: VirtualFile,
        _ range: Range<UInt64>,
        _ file: OpenFile
    ) -> [Response.Segment] {
        virtual.segments(in: range).map { segment in
            switch segment {
            case .memory(let bytes): .bytes(ByteBuffer(bytes: bytes))
            case .file(let range): .file(file, range)
            }
        }
    }

    private static func described(_ response: Response, _ validators: Validators) -> Response {
        var response = response
        if let tag = validators.entityTag { response.headers.add(name: "ETag", value: tag.text) }
        if let date = validators.lastModified { response.headers.add(name: "Last-Modified", value: date.text) }
        return response
    }

    private static func list(_ path: FilePath, in tree: FileTree, _ request: Request) async throws -> Response {
        let limit = try request.head.query.number("limit", in: 1...Self.entryCount) ?? Self.entryCount
        let after = try request.head.query.one("after")
        let page = try await BlockingCall.run { try tree.list(path, after: after, limit: limit) }
        let entries = page.entries.map { entry in
            FolderAnswer.Entry(
                name: entry.name,
                isFolder: entry.isFolder,
                size: Int64(clamping: entry.size),
                modifiedMs: entry.modifiedMilliseconds
            )
        }
        return Response(FolderAnswer(entries: entries, next: page.next))
    }

    // MARK: - Writing

    private func write(_ request: Request) async throws -> Response {
        let (path, isFolder) = try Self.path(of: request)
        guard !isFolder, path.name != nil else { throw FileTreeError.isFolder }
        guard !request.head.headers.contains(name: "Content-Range") else {
            throw Problem.badRequest("A part of a file cannot be written; send all of it.")
        }
        let tree = try await self.tree.open()
        let conditions = Preconditions { request.head.headers[$0] }
        let now = HTTPDate.present
        let upload = try await BlockingCall.run { try tree.upload(path, if: conditions, now: now) }
        do {
            while let piece = try await request.body.next() {
                try await BlockingCall.run { try upload.append(piece) }
            }
            let committed = try await BlockingCall.run { try upload.commit(if: conditions, now: now) }
            let validators = committed.version.validators(now: now)
            return Self.described(Response(committed.isNew ? .created : .noContent), validators)
        } catch {
            try? await BlockingCall.run { upload.abort() }
            throw error
        }
    }

    private func delete(_ request: Request) async throws -> Response {
        let (path, isFolder) = try Self.path(of: request)
        let tree = try await self.tree.open()
        if isFolder { _ = try await BlockingCall.run { try tree.list(path, after: nil, limit: 1) } }
        let conditions = Preconditions { request.head.headers[$0] }
        let now = HTTPDate.present
        try await BlockingCall.run { try tree.delete(path, if: conditions, now: now) }
        return .noContent
    }

    // MARK: - Paths and failures

    /// The path that a request names, and whether it ends in a slash as that of a folder.
    static func path(of request: Request) throws(Problem) -> (path: FilePath, isFolder: Bool) {
        var components = request.parameters
        let isFolder = components.last?.isEmpty ?? true
        if isFolder { components = components.dropLast() }
        do throws(FilePath.Objection) {
            return (try FilePath(components: components.map { Array($0.utf8) }), isFolder)
        } catch {
            throw .badRequest("This cannot be the path of a file: \(error.text).")
        }
    }

    /// Makes an answer on a thread for the disk, again if the file was changed meanwhile.
    static func onDisk(_ answer: @escaping @Sendable () throws -> Response) async throws -> Response {
        var repetition = 0
        while true {
            do {
                return try await BlockingCall.run(answer)
            } catch FileTreeError.changed where repetition < self.repetitionMax {
                repetition += 1
            }
        }
    }
}

/// A tree that is opened when it is first used: most workspaces have no files.
final class LazyFileTree: Sendable {
    private let path: String
    private let opened = Mutex<FileTree?>(nil)

    init(path: String) { self.path = path }

    func open() async throws -> FileTree {
        if let tree = self.opened.withLock({ $0 }) { return tree }
        return try await BlockingCall.run {
            try self.opened.withLock { opened in
                if let opened { return opened }
                let tree = try FileTree(path: self.path)
                opened = tree
                return tree
            }
        }
    }
}

/// How the movies that were played last are served; looking at one again costs reading its index.
private final class Arrangements: Sendable {
    private let known = Mutex<[(version: FileVersion, file: VirtualFile)]>([])

    private static let countMax = 4

    /// Blocks on the disk.
    func arrangement(of file: OpenFile) throws(FileTreeError) -> VirtualFile {
        if let known = self.known.withLock({ $0.first { $0.version == file.version } }) { return known.file }
        let found = try MovieIndex.served(file)
        self.known.withLock { known in
            known.append((file.version, found))
            if known.count > Self.countMax { known.removeFirst() }
        }
        return found
    }
}

extension Problem {
    init(_ error: FileTreeError) {
        switch error {
        case .notFound, .notAFolder: self.init(.notFound, "not-found", error)
        case .isFolder, .folderNotEmpty, .isRoot, .notRegular, .uploadEnded: self.init(.conflict, "conflict", error)
        case .preconditionFailed: self.init(.preconditionFailed, "version-changed", error)
        case .malformedPrecondition: self.init(.badRequest, "bad-request", error)
        case .tooLarge: self.init(.payloadTooLarge, "too-large", error)
        case .diskFull: self.init(.insufficientStorage, "disk-full", error)
        case .permissionDenied: self.init(.forbidden, "forbidden", error)
        case .tooManyOpenFiles, .changed: self.init(.serviceUnavailable, "unavailable", error)
        case .system: self.init(.internalServerError, "failed", error)
        }
    }

    private init(_ status: HTTPResponseStatus, _ code: String, _ error: FileTreeError) {
        self.init(status, code, error.detail, advice: error.advice)
    }
}
