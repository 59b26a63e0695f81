import CRDTCore
import Foundation
import MergeModel
import NIOCore
import NIOHTTP1
import PeerdKit
import Testing

@testable import LocalAPI

/// Texts that are kept for the next who asks.
struct ReadTextsTests {
    private final class Place {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("peerd-ready-\(UUID().uuidString)")
        deinit { try? FileManager.default.removeItem(at: self.url) }
    }

    private let place = Place()

    private func service(_ workspace: Workspace) -> APIService {
        let path = self.place.url.appendingPathComponent("files").path
        let server = ServerDescription(
            version: "0",
            platform: "",
            listen: nil,
            filesDirectory: path
        )
        return APIService(workspace, server, access: nil)
    }

    private func head(_ id: ObjectID, _ headers: HTTPHeaders = [:]) throws -> RequestHead {
        try RequestHead(method: .GET, target: "/api/objects/\(id)", headers: headers, entryPoint: .process)
    }

    /// The answer that is there at once; nil if there is none.
    private func ready(_ service: APIService, _ head: RequestHead) -> Response? {
        if case .now(let response) = service.answering(Request(head: head, body: .empty)) { response } else { nil }
    }

    /// Compares the answer that is there at once, if there is one, with the one that is made anew.
    private func check(_ service: APIService, _ id: ObjectID) async throws -> Bool {
        let object = try await service.workspace.object(id)
        guard let ready = self.ready(service, try self.head(id)) else { return false }
        var bytes: [UInt8] = []
        let version = try #require(object).append(to: &bytes)
        guard case .bytes(let found) = ready.body else { throw CancellationError() }
        #expect(ready.status == .ok && found == bytes)
        #expect(ready.headers["ETag"] == ["\"\(version)\""])
        return true
    }

    private func create(
        _ workspace: Workspace,
        in parent: ObjectID?,
        _ properties: [(String, Value)]
    ) async throws -> ObjectID {
        try await workspace.write { transaction in
            let id = try transaction.create("item", in: parent)
            for (name, value) in properties { try transaction.set(Property<Value>(name), to: value, on: id) }
            return id
        }
    }

    @Test(arguments: 0..<4)
    func `what is ready is what is true now`(seed: UInt64) async throws {
        var generator = SplitMix64(seed: seed)
        let workspace = try await Workspace.create(at: self.place.url, name: "laptop")
        let service = self.service(workspace)
        var ids: [ObjectID] = []
        var readyCount = 0
        for number in 0..<300 {
            // Mostly reads, so that answers are used again, with every kind of write between them.
            let one = ids.randomElement(using: &generator)
            let other = ids.randomElement(using: &generator)
            switch (Int.random(in: 0..<10, using: &generator), one, other) {
            // What does not exist any more, or is below the object itself, is refused.
            case (0, _, let parent), (_, nil, let parent):
                let id = try? await self.create(workspace, in: parent, [("n", .int(Int64(number)))])
                if let id { ids.append(id) }
            case (1, let id?, _):
                let text = Value.string("\"\(number)\"")
                _ = try? await workspace.write { try $0.set(Property<Value>("text"), to: text, on: id) }
            case (2, let id?, let parent?) where id != parent:
                _ = try? await workspace.write { try $0.move(id, to: parent) }
            case (3, let id?, _) where ids.count > 8:
                _ = try? await workspace.write { try $0.delete(id) }
            default: break
            }
            for id in ids where try await self.check(service, id) { readyCount += 1 }
        }
        #expect(readyCount > 200)
    }

    @Test func `an answer that is there at once knows conditions`() async throws {
        let workspace = try await Workspace.create(at: self.place.url, name: "laptop")
        let service = self.service(workspace)
        let id = try await workspace.write { try $0.create("item") }
        _ = await service.respond(to: Request(head: try self.head(id), body: .empty))
        let tag = try #require(self.ready(service, try self.head(id))?.headers.first(name: "ETag"))
        for (tags, status) in [(tag, HTTPResponseStatus.notModified), ("\"other\"", .ok)] {
            #expect(self.ready(service, try self.head(id, ["If-None-Match": tags]))?.status == status)
        }
        _ = try await workspace.write { try $0.delete(id) }
        #expect(self.ready(service, try self.head(id)) == nil)
        let gone = await service.respond(to: Request(head: try self.head(id), body: .empty))
        #expect(gone.status == .notFound)
    }

    @Test func `the text of an object is that of its members`() async throws {
        let workspace = try await Workspace.create(at: self.place.url, name: "a \"quoted\"\nname")
        let values: [Value] = [
            .null, .bool(true), .int(.min), .double(0.1), .string("é\u{0}\"\\"), .document(#"{"b":[1,{}],"a":null}"#),
            .bytes([0, 255]),
        ]
        let parent = try await workspace.write { try $0.create("list", kind: "käse") }
        let names = ["z", "a", "é", "e\u{301}", "", "\"", "Z"]
        let id = try await self.create(workspace, in: parent, Array(zip(names, values)))
        for id in [parent, id] {
            let object = try #require(try await workspace.object(id))
            var bytes: [UInt8] = []
            let version = object.append(to: &bytes)
            #expect(JSON(parsing: bytes) == JSON(ObjectAnswer(object)))
            #expect(version == object.version)
            #expect(object.properties.count == (id == parent ? 0 : names.count))
        }
    }
}
