internal import CRDTCore
internal import Foundation
internal import NIOCore
internal import NIOHTTP1

/// Has requests answered in this process, without a socket.
package struct ProcessCaller: APICaller {
    private let service: APIService

    package init(_ service: APIService) { self.service = service }

    package func exchange<Result>(
        _ request: APIRequest,
        _ read: (APIAnswer) async throws -> Result
    ) async throws -> Result {
        let head = try RequestHead(
            method: HTTPMethod(rawValue: request.method.rawValue),
            target: request.target,
            headers: request.headers,
            entryPoint: .process
        )
        let response = await self.service.respond(to: Request(head: head, body: RequestBody(of: request)))
        func answer(_ next: @escaping () async throws -> [UInt8]?) -> APIAnswer {
            APIAnswer(status: response.status, headers: response.headers, body: AnswerBody(next: next))
        }
        switch response.body {
        case .none: return try await read(answer { nil })
        case .bytes(let bytes):
            var rest: [UInt8]? = bytes
            return try await read(answer { rest.take() })
        case .segments(let segments):
            return try await Self.exchange(
                write: { try await $0.write(segments.parts) },
                read: { try await read(answer($0)) }
            )
        case .stream(let write):
            return try await Self.exchange(write: { try await write($0) }, read: { try await read(answer($0)) })
        }
    }

    /// Has a body written by one task while another one reads it.
    private static func exchange<Result>(
        write: @escaping @Sendable (PieceChannel) async throws -> Void,
        read: (@escaping () async throws -> [UInt8]?) async throws -> Result
    ) async throws -> Result {
        let channel = PieceChannel()
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                do {
                    try await write(channel)
                    channel.finish(nil)
                } catch {
                    channel.finish(error)
                }
            }
            defer {
                channel.abandon()
                group.cancelAll()
            }
            return try await read { try await channel.next() }
        }
    }
}

extension RequestBody {
    fileprivate init(of request: APIRequest) {
        switch request.body {
        case .none: self = .empty
        case .json(let json): self.init(json.bytes)
        case .pieces(let next): self.init(reading: next)
        }
    }
}

extension PieceChannel {
    private static let fileByteCount: UInt64 = 256 << 10

    fileprivate func write(_ segments: [Response.Segment]) async throws {
        for segment in segments {
            switch segment {
            case .bytes(let bytes): try await self.write(Array(bytes.readableBytesView))
            case .file(let file, let range):
                var rest = range
                while let start = rest.first {
                    let end = start + min(Self.fileByteCount, rest.upperBound - start)
                    guard let bytes = try? file.content(start..<end) else { throw APIConnectionError.endedEarly }
                    try await self.write(Array(bytes.readableBytesView))
                    rest = end..<rest.upperBound
                }
            }
        }
    }
}
