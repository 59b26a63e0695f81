internal import ArgumentParser
internal import Glibc

/// How a run is to be shown.
struct PictureOptions: ParsableArguments {
    @Flag(help: "Print what happened, one column a peer.")
    var timeline = false
    @Option(help: ArgumentHelp("Write a space-time diagram, a page for a browser.", valueName: "file"))
    var html: String?
    @Option(
        help: ArgumentHelp(
            "Write a log for ShiViz; its regular expression is \(ShiVizLog.expression)",
            valueName: "file"
        )
    )
    var shiviz: String?

    var areWanted: Bool { self.timeline || self.html != nil || self.shiviz != nil }

    func make(_ trace: Trace, title: String) throws {
        if self.timeline { print(ColumnTimeline.text(of: trace)) }
        if let path = self.html { try self.write(SpaceTimeDiagram.page(of: trace, title: title), to: path) }
        if let path = self.shiviz { try self.write(ShiVizLog.text(of: trace), to: path) }
    }

    private func write(_ text: String, to path: String) throws {
        guard let file = fopen(path, "w") else {
            throw ValidationError("“\(path)” cannot be written: \(String(cString: strerror(errno))).")
        }
        let bytes = Array(text.utf8)
        let written = fwrite(bytes, 1, bytes.count, file)
        guard fclose(file) == 0, written == bytes.count else {
            throw ValidationError("“\(path)” could not be written whole: \(String(cString: strerror(errno))).")
        }
    }
}
