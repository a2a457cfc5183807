/* Made by crates/service/dashboard-vendor/build.sh: do not edit.

diff 9.0.0 (BSD-3-Clause)

BSD 3-Clause License

Copyright (c) 2009-2015, Kevin Decker <kpdecker@gmail.com>
All rights reserved.

Redistribution and use in source and binary forms, with or without
modification, are permitted provided that the following conditions are met:

1. Redistributions of source code must retain the above copyright notice, this
   list of conditions and the following disclaimer.

2. Redistributions in binary form must reproduce the above copyright notice,
   this list of conditions and the following disclaimer in the documentation
   and/or other materials provided with the distribution.

3. Neither the name of the copyright holder nor the names of its
   contributors may be used to endorse or promote products derived from
   this software without specific prior written permission.

THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS"
AND ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE
IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE
DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR CONTRIBUTORS BE LIABLE
FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL
DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR
SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER
CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER IN CONTRACT, STRICT LIABILITY,
OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE
OF THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.
*/
var g=class{diff(e,o,t={}){let i;typeof t=="function"?(i=t,t={}):"callback"in t&&(i=t.callback);let m=this.castInput(e,t),a=this.castInput(o,t),d=this.removeEmpty(this.tokenize(m,t)),s=this.removeEmpty(this.tokenize(a,t));return this.diffWithOptionsObj(d,s,t,i)}diffWithOptionsObj(e,o,t,i){var m;let a=r=>{if(r=this.postProcess(r,t),i){setTimeout(function(){i(r)},0);return}else return r},d=o.length,s=e.length,f=1,n=d+s;t.maxEditLength!=null&&(n=Math.min(n,t.maxEditLength));let h=(m=t.timeout)!==null&&m!==void 0?m:1/0,p=Date.now()+h,l=[{oldPos:-1,lastComponent:void 0}],c=this.extractCommon(l[0],o,e,0,t);if(l[0].oldPos+1>=s&&c+1>=d)return a(this.buildValues(l[0].lastComponent,o,e));let x=-1/0,L=1/0,w=()=>{for(let r=Math.max(x,-f);r<=Math.min(L,f);r+=2){let u,P=l[r-1],C=l[r+1];P&&(l[r-1]=void 0);let D=!1;if(C){let j=C.oldPos-r;D=C&&0<=j&&j<d}let y=P&&P.oldPos+1<s;if(!D&&!y){l[r]=void 0;continue}if(!y||D&&P.oldPos<C.oldPos?u=this.addToPath(C,!0,!1,0,t):u=this.addToPath(P,!1,!0,1,t),c=this.extractCommon(u,o,e,r,t),u.oldPos+1>=s&&c+1>=d)return a(this.buildValues(u.lastComponent,o,e))||!0;l[r]=u,u.oldPos+1>=s&&(L=Math.min(L,r-1)),c+1>=d&&(x=Math.max(x,r+1))}f++};if(i)(function r(){setTimeout(function(){if(f>n||Date.now()>p)return i(void 0);w()||r()},0)})();else for(;f<=n&&Date.now()<=p;){let r=w();if(r)return r}}addToPath(e,o,t,i,m){let a=e.lastComponent;return a&&!m.oneChangePerToken&&a.added===o&&a.removed===t?{oldPos:e.oldPos+i,lastComponent:{count:a.count+1,added:o,removed:t,previousComponent:a.previousComponent}}:{oldPos:e.oldPos+i,lastComponent:{count:1,added:o,removed:t,previousComponent:a}}}extractCommon(e,o,t,i,m){let a=o.length,d=t.length,s=e.oldPos,f=s-i,n=0;for(;f+1<a&&s+1<d&&this.equals(t[s+1],o[f+1],m);)f++,s++,n++,m.oneChangePerToken&&(e.lastComponent={count:1,previousComponent:e.lastComponent,added:!1,removed:!1});return n&&!m.oneChangePerToken&&(e.lastComponent={count:n,previousComponent:e.lastComponent,added:!1,removed:!1}),e.oldPos=s,f}equals(e,o,t){return t.comparator?t.comparator(e,o):e===o||!!t.ignoreCase&&e.toLowerCase()===o.toLowerCase()}removeEmpty(e){let o=[];for(let t=0;t<e.length;t++)e[t]&&o.push(e[t]);return o}castInput(e,o){return e}tokenize(e,o){return Array.from(e)}join(e){return e.join("")}postProcess(e,o){return e}get useLongestToken(){return!1}buildValues(e,o,t){let i=[],m;for(;e;)i.push(e),m=e.previousComponent,delete e.previousComponent,e=m;i.reverse();let a=i.length,d=0,s=0,f=0;for(;d<a;d++){let n=i[d];if(n.removed)n.value=this.join(t.slice(f,f+n.count)),f+=n.count;else{if(!n.added&&this.useLongestToken){let h=o.slice(s,s+n.count);h=h.map(function(p,l){let c=t[f+l];return c.length>p.length?c:p}),n.value=this.join(h)}else n.value=this.join(o.slice(s,s+n.count));s+=n.count,n.added||(f+=n.count)}}return i}};var E=class extends g{tokenize(e){return e.slice()}join(e){return e}removeEmpty(e){return e}},T=new E;function A(v,e,o){return T.diff(v,e,o)}export{A as diffArrays};
