internal import CRDTCore
internal import Foundation
internal import NIOCore
internal import NIOHTTP1

/// Has requests answered in this process, without a socket.
package struct ProcessCaller: APICaller {
    private let service: APIService

    package init(_ service: APIService) { self.service = service }

    package func exchange(_ request: APIRequest, _ read: (APIAnswer) async throws -> Void) async throws {
        let head = try RequestHead(
            method: HTTPMethod(rawValue: request.method.rawValue),
            target: request.target,
            headers: request.headers,
            entryPoint: .process
        )
        let response = await self.service.respond(to: Request(head: head, body: RequestBody(of: request)))
        // One task writes the body while another one reads it.
        let channel = PieceChannel()
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                do {
                    try await response.body.write(to: channel)
                    channel.finish(nil)
                } catch {
                    channel.finish(error)
                }
            }
            defer {
                channel.abandon()
                group.cancelAll()
            }
            let answer = APIAnswer(status: response.status) { try await channel.next() }
            return try await read(answer)
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

extension Response.Body {
    private static let fileByteCount: UInt64 = 256 << 10

    fileprivate func write(to writer: any BodyWriter) async throws {
        switch self {
        case .none: break
        case .bytes(let bytes): try await writer.write(bytes)
        case .stream(let write): try await write(writer)
        case .segments(let segments): for segment in segments { try await Self.write(segment, to: writer) }
        }
    }

    private static func write(_ segment: Response.Segment, to writer: any BodyWriter) async throws {
        switch segment {
        case .bytes(let bytes): try await writer.write(Array(bytes.readableBytesView))
        case .file(let file, let range):
            var rest = range
            while let start = rest.first {
                let end = start + min(Self.fileByteCount, rest.upperBound - start)
                guard let bytes = try? file.content(start..<end) else { throw APIConnectionError.endedEarly }
                try await writer.write(Array(bytes.readableBytesView))
                rest = end..<rest.upperBound
            }
        }
    }
}
