import CRDTCore
import Foundation
import LocalAPI
import NIOHTTP1
import PeerdKit
import Testing

/// Branches through requests that are answered within the process.
struct BranchRouteTests {
    private final class Place {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("peerd-api-\(UUID().uuidString)")
        deinit { try? FileManager.default.removeItem(at: self.url) }
    }

    private struct Answer {
        var status: UInt
        var json: JSON
        var headers: HTTPHeaders

        func text(_ name: String) -> String? { self.json[name]?.text }
    }

    private let place = Place()

    private func service() async throws -> APIService {
        let workspace = try await Workspace.create(at: self.place.url, name: "laptop")
        let files = self.place.url.appendingPathComponent("files").path
        let server = ServerDescription(
            version: "0",
            platform: "",
            listen: nil,
            filesDirectory: files
        )
        return APIService(workspace, server, access: nil)
    }

    private func ask(
        _ service: APIService,
        _ method: HTTPMethod,
        _ target: String,
        _ body: String? = nil,
        _ headers: HTTPHeaders = [:]
    ) async throws -> Answer {
        let head = try RequestHead(method: method, target: target, headers: headers, entryPoint: .process)
        let content = body.map { RequestBody(Array($0.utf8)) } ?? .empty
        let response = await service.respond(to: Request(head: head, body: content))
        var json = JSON.null
        if case .bytes(let bytes) = response.body, let found = JSON(parsing: bytes) { json = found }
        return Answer(status: UInt(response.status.code), json: json, headers: response.headers)
    }

    private func made(_ service: APIService, _ target: String, _ body: String) async throws -> String {
        let answer = try await self.ask(service, .POST, target, body)
        #expect(answer.status == 201, "\(answer.json)")
        return try #require(answer.text("id"))
    }

    @Test func `a branch is created, listed, read and deleted`() async throws {
        let service = try await self.service()
        let id = try await self.made(service, "/api/branches", #"{"name":"Büro / 2"}"#)
        let below = try await self.made(service, "/api/branches", #"{"name":"a","parent":"\#(id)"}"#)
        let listed = try await self.ask(service, .GET, "/api/branches").json["branches"]?.elements ?? []
        #expect(listed.map { $0["id"]?.text } == [id, below])
        #expect(listed.first?["parent"] == .null && listed.last?["parent"]?.text == id)
        #expect(listed.first?["unmerged"] == .int(0) && listed.first?["author"]?["name"]?.text == "laptop")
        let named = try await self.ask(service, .GET, "/api/branches/B%C3%BCro%20%2F%202")
        #expect(named.json == listed.first)
        let again = try await self.ask(service, .POST, "/api/branches", #"{"name":"a"}"#)
        #expect(again.status == 409 && again.text("code") == "branch-exists")
        for name in ["main", "", " a", "a\\n"] {
            #expect(try await self.ask(service, .POST, "/api/branches", #"{"name":"\#(name)"}"#).status == 422)
        }
        #expect(listed.first?["deleted_by"] == .null && listed.first?["unseen"] == .int(0))
        let deleted = try await self.ask(service, .DELETE, "/api/branches/a")
        #expect(deleted.status == 200 && deleted.json == .object(["remains": .null]))
        let gone = try await self.ask(service, .DELETE, "/api/branches/\(below)")
        #expect(gone.status == 404 && gone.text("code") == "no-such-branch")
        #expect(try await self.ask(service, .DELETE, "/api/branches/main").status == 404)
    }

    @Test func `a branch with edits that nothing else has is deleted only if that is wanted`() async throws {
        let service = try await self.service()
        let id = try await self.made(service, "/api/objects", #"{"type":"item","properties":{"n":1}}"#)
        let branch = try await self.made(service, "/api/branches", #"{"name":"b"}"#)
        #expect(try await self.ask(service, .PUT, "/api/objects/\(id)/properties/n?branch=b", "2").status < 300)
        let refused = try await self.ask(service, .DELETE, "/api/branches/b")
        #expect(refused.status == 409 && refused.text("code") == "branch-unmerged")
        let message = try #require(refused.text("message"))
        #expect(message.contains(branch) && message.contains("1 transaction ") && message.contains(id))
        #expect(try await self.ask(service, .GET, "/api/branches/b").status == 200)
        #expect(try await self.ask(service, .DELETE, "/api/branches/b?discard=1").status == 200)
        #expect(try await self.ask(service, .GET, "/api/branches/b").status == 404)
        let status = try await self.ask(service, .GET, "/api/status")
        #expect(status.json["branches_kept"] == .array([]))
    }

    @Test func `every edit of an object can go to a branch, and shows nowhere else`() async throws {
        let service = try await self.service()
        let list = try await self.made(service, "/api/objects", #"{"type":"list","properties":{"n":1,"old":2}}"#)
        let item = try await self.made(service, "/api/objects", #"{"type":"item"}"#)
        let main = try await self.ask(service, .GET, "/api/tree").json
        _ = try await self.made(service, "/api/branches", #"{"name":"b"}"#)
        let (at, on) = ("?at=branch:b", "?branch=b")

        let patch = #"{"properties":{"n":2},"remove":["old"]}"#
        let patched = try await self.ask(service, .PATCH, "/api/objects/\(list)\(on)", patch)
        #expect(patched.json["properties"] == .object(["n": .int(2)]))
        #expect(try await self.ask(service, .PUT, "/api/objects/\(list)/properties/x\(on)", "3").status == 200)
        #expect(try await self.ask(service, .DELETE, "/api/objects/\(list)/properties/n\(on)").status == 204)
        let move = #"{"parent":"\#(list.prefix(12))"}"#
        #expect(try await self.ask(service, .POST, "/api/objects/\(item)/move\(on)", move).status == 200)
        let new = try await self.ask(service, .POST, "/api/objects\(on)", #"{"type":"new","parent":"\#(list)"}"#)
        let place = try #require(new.headers.first(name: "Location"))
        #expect(new.status == 201 && place.contains("?at=branch:"))
        #expect(try await self.ask(service, .GET, place).json == new.json)
        let id = try #require(new.text("id"))
        #expect(try await self.ask(service, .GET, "/api/objects/\(id)").status == 404)
        // It is only there, so its first digits are looked for there.
        let batch = #"{"edits":[{"set":"\#(id.prefix(12))","properties":{"y":1}}]}"#
        #expect(try await self.ask(service, .POST, "/api/transactions", batch).status == 404)
        #expect(try await self.ask(service, .POST, "/api/transactions\(on)", batch).status == 200)
        let branch = try await self.ask(service, .GET, "/api/objects/\(list)\(at)").json
        #expect(branch["properties"] == .object(["x": .int(3)]))
        #expect(try await self.ask(service, .DELETE, "/api/objects/\(list)\(on)").status == 204)
        #expect(try await self.ask(service, .GET, "/api/tree\(at)").json["objects"] == .array([]))
        #expect(try await self.ask(service, .GET, "/api/tree").json == main)
        #expect(try await self.ask(service, .GET, "/api/tree?at=branch:main").json["objects"] == main["objects"])
    }

    @Test func `a condition is about the object as it is on the branch`() async throws {
        let service = try await self.service()
        let id = try await self.made(service, "/api/objects", #"{"type":"item","properties":{"n":1}}"#)
        _ = try await self.made(service, "/api/branches", #"{"name":"b"}"#)
        let path = "/api/objects/\(id)/properties/n?branch=b"
        #expect(try await self.ask(service, .PUT, path, "2").status == 200)
        let main = try #require(try await self.ask(service, .GET, "/api/objects/\(id)").headers.first(name: "ETag"))
        let branch = try await self.ask(service, .GET, "/api/objects/\(id)?at=branch:b")
        let tag = try #require(branch.headers.first(name: "ETag"))
        #expect(try await self.ask(service, .PUT, path, "3", ["If-Match": main]).status == 412)
        #expect(try await self.ask(service, .PUT, path, "3", ["If-Match": tag]).status == 200)
        #expect(try await self.ask(service, .PUT, path, "4", ["If-Match": tag]).status == 412)
    }

    @Test func `a named write is of one branch`() async throws {
        let service = try await self.service()
        _ = try await self.made(service, "/api/branches", #"{"name":"b"}"#)
        let write = #"{"id":"one","edits":[{"create":"item"}]}"#
        let first = try await self.ask(service, .POST, "/api/transactions?branch=b", write)
        #expect(first.status == 200)
        #expect(try await self.ask(service, .POST, "/api/transactions?branch=b", write).json == first.json)
        let other = try await self.ask(service, .POST, "/api/transactions", write)
        #expect(other.status == 409 && other.text("code") == "id-of-another-write")
        let count = try await self.ask(service, .GET, "/api/objects/count?at=branch:b")
        #expect(count.json["count"] == .int(1))
    }

    @Test func `a merge names what both sides changed, and is done once`() async throws {
        let service = try await self.service()
        let id = try await self.made(service, "/api/objects", #"{"type":"item","properties":{"n":1,"m":1}}"#)
        let gone = try await self.made(service, "/api/objects", #"{"type":"item"}"#)
        let other = try await self.made(service, "/api/objects", #"{"type":"list"}"#)
        let branch = try await self.made(service, "/api/branches", #"{"name":"b"}"#)
        for (query, value) in [("", "2"), ("?branch=b", "3")] {
            #expect(try await self.ask(service, .PUT, "/api/objects/\(id)/properties/n\(query)", value).status == 200)
        }
        _ = try await self.ask(service, .PATCH, "/api/objects/\(id)?branch=b", #"{"remove":["m"]}"#)
        _ = try await self.ask(service, .PUT, "/api/objects/\(id)/properties/m", "null")
        _ = try await self.ask(service, .POST, "/api/objects/\(id)/move", #"{"parent":"\#(other)"}"#)
        _ = try await self.ask(service, .POST, "/api/objects/\(id)/move?branch=b", #"{"parent":null}"#)
        _ = try await self.ask(service, .DELETE, "/api/objects/\(gone)?branch=b")
        _ = try await self.ask(service, .PUT, "/api/objects/\(gone)/properties/n", "1")
        let look = try await self.ask(service, .GET, "/api/branches/b/conflicts")
        let found = look.json["conflicts"]?.elements ?? []
        let n = found.first { $0["property"]?.text == "n" }
        #expect(n?["branch"] == .int(3) && n?["target"] == .int(2) && n?["object"]?.text == id)
        let m = found.first { $0["property"]?.text == "m" }
        #expect(m != nil && m?["branch"] == nil && m?["target"] == .null)
        let place = found.first { $0["kind"]?.text == "place" }
        #expect(place?["branch"] == .null && place?["target"]?.text == other)
        #expect(found.first { $0["kind"]?.text == "deleted-on-branch" }?["object"]?.text == gone)
        let listed = try await self.ask(service, .GET, "/api/branches/b")
        #expect(listed.json["unmerged"] != .int(0))
        let merged = try await self.ask(service, .POST, "/api/branches/\(branch)/merge", "{}")
        #expect(merged.json["merged"] == .bool(true) && merged.json["conflicts"] == look.json["conflicts"])
        let again = try await self.ask(service, .POST, "/api/branches/b/merge")
        #expect(again.json["merged"] == .bool(false) && again.json["conflicts"] == .array([]))
        // The main timeline brings the branch up to date.
        let back = try await self.ask(service, .POST, "/api/branches/main/merge", #"{"into":"b"}"#)
        #expect(back.json["merged"] == .bool(true))
        let difference = try await self.ask(service, .GET, "/api/diff?from=branch:main&to=branch:b")
        #expect(difference.status == 200 && difference.json["objects"] == .array([]))
        #expect(try await self.ask(service, .POST, "/api/branches/b/merge", #"{"into":"b"}"#).status == 422)
        #expect(try await self.ask(service, .GET, "/api/branches/b/conflicts?into=b").status == 422)
    }

    @Test func `what cannot be on a branch does not take one`() async throws {
        let service = try await self.service()
        _ = try await self.made(service, "/api/branches", #"{"name":"b"}"#)
        for target in ["/api/conflicts/resolve", "/api/erasure", "/api/compaction"] {
            let answer = try await self.ask(service, .POST, "\(target)?branch=b", "{}")
            #expect(answer.status == 400 && answer.text("code") == "bad-request", "\(target)")
        }
        for (target, body) in [
            ("undo", "{}"), ("redo", "{}"), ("import", "[]"), ("snapshots", #"{"object":"abcd"}"#),
        ] {
            let answer = try await self.ask(service, .POST, "/api/\(target)?branch=c", body)
            #expect(answer.status == 404 && answer.text("code") == "no-such-branch", "\(target): \(answer.status)")
        }
        let unknown = try await self.ask(service, .POST, "/api/objects?branch=c", #"{"type":"item"}"#)
        #expect(unknown.status == 404 && unknown.text("code") == "no-such-branch")
    }

    @Test func `what is taken back on a branch stays on main`() async throws {
        let service = try await self.service()
        let id = try await self.made(service, "/api/objects", #"{"type":"item","properties":{"n":1}}"#)
        _ = try await self.made(service, "/api/branches", #"{"name":"b"}"#)
        func value(_ branch: String) async throws -> JSON? {
            let answer = try await self.ask(service, .GET, "/api/objects/\(id)?at=branch:\(branch)")
            return answer.json["properties"]?["n"]
        }
        #expect(try await self.ask(service, .PUT, "/api/objects/\(id)/properties/n?branch=b", "2").status < 300)
        let undo = try await self.ask(service, .POST, "/api/undo?branch=b")
        let undone = undo.json["actions"]?.elements.first
        #expect(undo.status == 200 && undone?["has_effect"] == .bool(true) && undone?["kept"] == .array([]))
        #expect(try await value("b") == .int(1))
        let redo = try await self.ask(service, .POST, "/api/redo?branch=b", #"{"count":3}"#)
        #expect(redo.json["actions"]?.elements.count == 1)
        let values = try await [value("b"), value("main")]
        #expect(values == [.int(2), .int(1)])
    }
}
